"""Calls of the standard library in which a program waits."""

from rlscope.model import Category
from rlscope.record.boundary import Boundary


def _waiting(library: str, *functions: str) -> Boundary:
    return Boundary(library=library, category=Category.WAIT, functions=functions)


BOUNDARIES = (
    _waiting("time", "time.sleep"),
    _waiting(
        "_thread",
        "_thread.LockType.acquire",
        "_thread.LockType.acquire_lock",
        "_thread.LockType.__enter__",
        "_thread.RLock.acquire",
        "_thread.RLock.__enter__",
        "_thread._ThreadHandle.join",  # how threads are joined from Python 3.13 on
    ),
    _waiting("_queue", "_queue.SimpleQueue.get"),
    _waiting("_multiprocessing", "_multiprocessing.SemLock.acquire", "_multiprocessing.SemLock.__enter__"),
    _waiting("select", "select.select", "select.poll().poll", "select.epoll.poll"),
    _waiting(
        "_socket",
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
    _waiting(
        "posix",
        "posix.read",
        "posix.write",
        "posix.wait",
        "posix.wait3",
        "posix.wait4",
        "posix.waitpid",
        "posix.waitid",
    ),
    # Buffered files and text files read and write through these: `for line in process.stdout`, too.
    _waiting("_io", "_io.FileIO.read", "_io.FileIO.readall", "_io.FileIO.readinto", "_io.FileIO.write"),
)
