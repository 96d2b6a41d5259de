"""Processes that end in each way that there is, and a main one that raises."""

import multiprocessing
import os
import subprocess
import sys
import time

#: So long the one that is killed computes without a record.
SILENT_S = 1.0


def compute(connection):
    import rlscope

    with rlscope.operation("computes"):
        connection.send(time.monotonic())
        while True:
            pass


def main():
    context = multiprocessing.get_context("fork")
    mine, theirs = context.Pipe()
    silent = context.Process(target=compute, args=(theirs,), name="silent")
    silent.start()
    began_s = mine.recv()
    time.sleep(SILENT_S)
    subprocess.run(["kill", "-KILL", str(silent.pid)], check=True)
    silent.join()
    print(silent.pid, time.monotonic() - began_s, flush=True)
    for name, function, status in (("exits", sys.exit, 3), ("leaves", os._exit, 4)):
        child = context.Process(target=function, args=(status,), name=name)
        child.start()
        child.join()
    if os.fork() == 0:
        sys.exit(5)  # by way of the interpreter's end and exit()
    os.wait()
    go_on = "import os, sys; os.execv(sys.executable, [sys.executable, '-c', 'raise KeyError'])"
    subprocess.run([sys.executable, "-c", go_on], stderr=subprocess.DEVNULL)
    raise ValueError("the training failed")


if __name__ == "__main__":
    main()
