"""Threads, forks and other programs come and go for so many seconds, among stacks that are new each time.

python churn.py SECONDS THREADS_PER_SECOND
"""

import os
import subprocess
import sys
import threading
import time

import rlscope

SLEEP = "import rlscope\nwith rlscope.operation('other'): pass"


def search(depth, path):
    if depth == 0:
        return sum(range(20))
    if path >> depth % 60 & 1:
        return search(depth - 1, path * 3 + 1)
    return search(depth - 1, path * 5 + 7)


def short():
    with rlscope.operation("short"):
        sum(range(100))


def main():
    end, period_s = time.monotonic() + float(sys.argv[1]), 1 / float(sys.argv[2])
    iteration, path = 0, 1
    while time.monotonic() < end:
        began = time.monotonic()
        iteration += 1
        for _ in range(50):
            with rlscope.operation("step"), rlscope.operation("inner"):
                pass
        path = path * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
        search(300, path)
        thread = threading.Thread(target=short)
        thread.start()
        thread.join()
        if iteration % 10 == 0:
            if os.fork() == 0:
                short()
                os._exit(0)
            os.wait()
        if iteration % 100 == 0:
            subprocess.run([sys.executable, "-c", SLEEP], check=True)
        if iteration % 1000 == 0:  # and one that goes on as another program
            if os.fork() == 0:
                os.execv(sys.executable, [sys.executable, "-c", SLEEP])
            os.wait()
        rlscope.report_progress(timesteps=iteration)
        time.sleep(max(0.0, period_s - (time.monotonic() - began)))
    print(iteration, flush=True)


if __name__ == "__main__":
    main()
