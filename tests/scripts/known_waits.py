"""Waits for one thing of each kind in a phase of that name, and prints what the kernel says of the time as JSON.

The argument is a directory for files. What a thread waits for comes from other processes or from the kernel, so that
nothing else runs in this one. In `unknown` it waits in a function that nobody declares.
"""

import ctypes
import json
import mmap
import os
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import rlscope

LENGTH_S = 0.3
LATE_S = 0.02
BLOCK = os.urandom(1 << 22)
TIMES: dict[str, dict[str, int]] = {}
LATE = f"import os, time\nwhile True: time.sleep({LATE_S}); os.write(1, b'x')"


def schedstat() -> tuple[int, int]:
    """Nanoseconds of this thread on a core, and ready without one."""
    with open(f"/proc/self/task/{threading.get_native_id()}/schedstat") as file:
        on_core, ready, _ = map(int, file.read().split())
    return on_core, ready


def timed(name: str, wait: Callable[[], object]) -> None:
    """Wait again and again; `calls` of it, and what the kernel says of the time."""
    wait()
    calls = 0
    with rlscope.phase(name):
        start_ns, (ran, ready) = time.monotonic_ns(), schedstat()
        while time.monotonic_ns() < start_ns + LENGTH_S * 1e9:
            wait()
            calls += 1
        wall_ns, (ran_later, ready_later) = time.monotonic_ns() - start_ns, schedstat()
    TIMES[name] = {"calls": calls, "wall": wall_ns, "ran": ran_later - ran, "ready": ready_later - ready}


def use_disk(folder: Path) -> None:
    with (folder / "synced").open("wb", buffering=0) as file:

        def sync() -> None:
            os.pwrite(file.fileno(), os.urandom(64), 0)
            os.fsync(file.fileno())

        timed("disk", sync)
    with (folder / "mapped").open("w+b") as file:
        file.truncate(1 << 16)
        with mmap.mmap(file.fileno(), 0) as mapped:

            def flush() -> None:
                mapped[:64] = os.urandom(64)
                mapped.flush()

            timed("disk mapped", flush)
    connection = sqlite3.connect(folder / "base.sqlite")
    connection.execute("create table blocks (number integer primary key, block blob)")

    def commit() -> None:
        connection.execute("insert or replace into blocks values (1, ?)", (BLOCK,))
        connection.commit()

    timed("disk base", commit)
    connection.close()
    descriptor = os.open(folder / "direct", os.O_WRONLY | os.O_CREAT | os.O_SYNC)
    with open(descriptor, "wb", buffering=0) as written:
        timed("disk write", lambda: os.lseek(descriptor, 0, os.SEEK_SET) or written.write(BLOCK))


def use_others() -> None:
    timed("timer", lambda: time.sleep(LATE_S))
    lock = threading.Lock()
    lock.acquire()
    timed("lock", lambda: lock.acquire(True, LATE_S))
    with subprocess.Popen([sys.executable, "-S", "-c", LATE], stdout=subprocess.PIPE, bufsize=0) as late:
        assert late.stdout is not None
        timed("pipe", lambda: late.stdout.read(1))
        late.kill()
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        accepted, _ = server.accept()
        with subprocess.Popen([sys.executable, "-S", "-c", LATE], stdout=accepted.fileno()) as late:
            timed("network", lambda: client.recv(1))
            late.kill()
        accepted.close()

    def run() -> None:
        pid = os.posix_spawn("/bin/sleep", ["sleep", "0.1"], {})
        os.waitpid(pid, 0)

    timed("process", run)
    libc = ctypes.CDLL(None)
    timed("unknown", lambda: libc.usleep(int(LATE_S * 1e6)))


if __name__ == "__main__":
    use_disk(Path(sys.argv[1]))
    use_others()
    print(json.dumps(TIMES))
