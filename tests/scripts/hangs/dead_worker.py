"""A worker was killed; the main process waits for its answer in a queue."""

import multiprocessing
import os
import signal
import time


def work(tasks, answers):
    while True:
        answers.put(tasks.get())


def main():
    tasks, answers = multiprocessing.Queue(), multiprocessing.Queue()
    worker = multiprocessing.Process(target=work, args=(tasks, answers), name="worker", daemon=True)
    worker.start()
    tasks.put(1)
    answers.get()
    os.kill(worker.pid, signal.SIGKILL)
    time.sleep(0.2)
    tasks.put(2)
    answers.get()


if __name__ == "__main__":
    main()
