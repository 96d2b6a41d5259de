"""Ends, prints and handles signals in ways that recording must not change. The first argument chooses one."""

import atexit
import os
import signal
import sys
import threading
import time

import rlscope


def work() -> None:
    for _ in range(100):
        with rlscope.operation("work"):
            time.sleep(0)


def handle(number: int, frame: object) -> None:
    print("handled", signal.Signals(number).name, flush=True)
    sys.exit(5)


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
elif how == "wait":
    wait_for_signal()
elif how == "handler":
    signal.signal(signal.SIGTERM, handle)
    wait_for_signal()
elif how == "daemon":
    threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
elif how == "fork":
    with rlscope.operation("parent"):
        pid = os.fork()
        if pid == 0:
            work()
            sys.stdout.flush()
            os._exit(0)
        print("child", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
