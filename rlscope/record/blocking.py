"""Calls of the standard library in which a program waits. Read in every process, so it is no `Boundary`."""

#: Dotted names of functions, by the module after whose import they are intercepted.
WAITS = {
    "time": ("time.sleep",),
    "_thread": (
        "_thread.LockType.acquire",
        "_thread.LockType.acquire_lock",
        "_thread.LockType.__enter__",
        "_thread.RLock.acquire",
        "_thread.RLock.__enter__",
        "_thread._ThreadHandle.join",  # how threads are joined from Python 3.13 on
    ),
    "_queue": ("_queue.SimpleQueue.get",),
    "_multiprocessing": ("_multiprocessing.SemLock.acquire", "_multiprocessing.SemLock.__enter__"),
    "select": ("select.select", "select.poll().poll", "select.epoll.poll"),
    "_socket": (
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
    ),
    "posix": (
        "posix.read",
        "posix.write",
        "posix.wait",
        "posix.wait3",
        "posix.wait4",
        "posix.waitpid",
        "posix.waitid",
    ),
    # Buffered files and text files read and write through these: `for line in process.stdout`, too.
    "_io": ("_io.FileIO.read", "_io.FileIO.readall", "_io.FileIO.readinto", "_io.FileIO.write"),
}
