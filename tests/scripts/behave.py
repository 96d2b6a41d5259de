"""Ends, prints and handles signals in ways that recording must not change. The first argument chooses one."""

import atexit
import ctypes
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

import rlscope


def work() -> None:
    for _ in range(100):
        with rlscope.operation("work"):
            time.sleep(0)


def handle(number: int, frame: object) -> None:
    # Not print: the signal may come in the middle of one, which bears no second one.
    os.write(sys.stdout.fileno(), f"handled {signal.Signals(number).name}\n".encode())
    sys.exit(5)


def fork() -> None:
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        work()
        os._exit(0)
    print("child", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def wait_for_signal() -> None:
    print("ready", flush=True)
    while True:
        with rlscope.operation("waiting"):
            time.sleep(0.01)


how = sys.argv[1]
atexit.register(print, "atexit", flush=True)
work()
print("out")
print("err", file=sys.stderr)
if how == "exit":
    sys.exit(3)
elif how == "exception":
    raise ValueError("uncaught")
elif how == "os_exit":
    sys.stdout.flush()
    os._exit(4)
elif how == "signal":
    os.kill(os.getpid(), getattr(signal, sys.argv[2]))
    time.sleep(10)
elif how == "abort":
    sys.stdout.flush()
    os.abort()
elif how == "exec":
    sys.stdout.flush()
    os.execvp("echo", ["echo", "executed"])
elif how == "segmentation_fault":
    sys.stdout.flush()
    ctypes.string_at(0)
elif how == "memory":
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    bytearray(2 << 30)
elif how == "files":
    resource.setrlimit(resource.RLIMIT_NOFILE, (600, 600))
    try:
        while True:
            os.open(os.devnull, os.O_RDONLY)
    except OSError as error:
        print(error.strerror)
    fork()
    work()
elif how == "disk":
    # The limit on the size of a file stands for the end of the disk: the recorder sees an error code of the same kind.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    for _ in range(200_000):
        with rlscope.operation("work"):
            pass
elif how == "vanish":
    if "RLSCOPE_TRACE" in os.environ:
        shutil.rmtree(os.environ["RLSCOPE_TRACE"])
    fork()
    for _ in range(200_000):
        with rlscope.operation("work"):
            pass
elif how == "read_only":
    if "RLSCOPE_TRACE" in os.environ:
        os.chmod(os.environ["RLSCOPE_TRACE"], 0o555)
    fork()
    print(subprocess.run([sys.executable, "-c", "print('other')"], capture_output=True, text=True).stdout)
    for _ in range(200_000):
        with rlscope.operation("work"):
            pass
elif how == "wait":
    wait_for_signal()
elif how == "handler":
    signal.signal(signal.SIGTERM, handle)
    wait_for_signal()
elif how == "daemon":
    threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
elif how == "fork":
    with rlscope.operation("parent"):
        fork()
