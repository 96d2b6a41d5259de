"""Calls of the standard library in which a program waits. Read in every process, so it is no `Boundary`."""

TYPE_CHECKING = False  # as `typing` has it, whose import takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Mapping

    #: Dotted names of functions by kind, by the module after whose import they are intercepted.
    Declared = Mapping[str, Mapping[str, tuple[str, ...]]]

#: Kinds of what a thread waits for. `disk` is any file system, also one of a network. `pipe` is a UNIX socket or a
#: terminal, too. `lock` is anything by which threads wait for each other, and a lock between processes; `process` is
#: the end, or an answer, of another process. `communication` is a call of a communicator. `events` is whichever comes
#: first of several channels and a timer.
KINDS = DISK, PIPE, LOCK, PROCESS, NETWORK, COMMUNICATION, TIMER, EVENTS = (
    "disk", "pipe", "lock", "process", "network", "communication", "timer", "events",
)  # fmt: skip

#: All of the time of these is waiting. A channel says more where one is known: `posix.read` of a TCP connection waits
#: for the network, and of a file for a disk.
WAITS: "Declared" = {
    "time": {TIMER: ("time.sleep",)},
    "_thread": {
        LOCK: (
            "_thread.LockType.acquire",
            "_thread.LockType.acquire_lock",
            "_thread.LockType.__enter__",
            "_thread.RLock.acquire",
            "_thread.RLock.__enter__",
            "_thread._ThreadHandle.join",  # how threads are joined from Python 3.13 on
        )
    },
    "_queue": {LOCK: ("_queue.SimpleQueue.get",)},
    "_multiprocessing": {LOCK: ("_multiprocessing.SemLock.acquire", "_multiprocessing.SemLock.__enter__")},
    "select": {EVENTS: ("select.select", "select.poll().poll", "select.epoll.poll")},
    "_socket": {
        NETWORK: (
            "_socket.socket._accept",
            "_socket.socket.recv",
            "_socket.socket.recv_into",
            "_socket.socket.recvfrom",
            "_socket.socket.recvfrom_into",
            "_socket.socket.recvmsg",
            "_socket.socket.recvmsg_into",
            "_socket.socket.send",
            "_socket.socket.sendall",
            "_socket.socket.sendto",
            "_socket.socket.sendmsg",
            "_socket.socketpair",  # no wait: only the names of its two ends are found out there
        )
    },
    "posix": {
        PIPE: ("posix.read", "posix.write"),
        PROCESS: ("posix.wait", "posix.wait3", "posix.wait4", "posix.waitpid", "posix.waitid"),
        DISK: ("posix.fsync", "posix.fdatasync", "posix.sync"),
    },
    # Buffered files and text files read and write through these: `for line in process.stdout`, too.
    "_io": {PIPE: ("_io.FileIO.read", "_io.FileIO.readall", "_io.FileIO.readinto", "_io.FileIO.write")},
    "mmap": {DISK: ("mmap.mmap.flush",)},
}
#: These compute as well: they are Python, and wait for as long as the thread was blocked.
MAY_WAIT: "Declared" = {
    "sqlite3": {
        DISK: (
            "sqlite3.Connection.commit",
            "sqlite3.Connection.execute",
            "sqlite3.Connection.executemany",
            "sqlite3.Connection.executescript",
            "sqlite3.Connection.__exit__",  # commits
            "sqlite3.Cursor.execute",
            "sqlite3.Cursor.executemany",
            "sqlite3.Cursor.executescript",
        )
    },
}
