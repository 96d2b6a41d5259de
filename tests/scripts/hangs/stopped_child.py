"""A child was stopped by SIGSTOP while its parent waits for an answer."""

import multiprocessing
import os
import signal
import time


def work(pipe):
    while True:
        pipe.send(pipe.recv())


def main():
    ours, theirs = multiprocessing.Pipe()
    worker = multiprocessing.Process(target=work, args=(theirs,), name="worker", daemon=True)
    worker.start()
    ours.send(1)
    ours.recv()
    os.kill(worker.pid, signal.SIGSTOP)
    time.sleep(0.1)
    ours.send(2)
    ours.recv()


if __name__ == "__main__":
    main()
