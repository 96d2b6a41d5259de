"""A multiprocessing lock is held by a process that sleeps."""

import multiprocessing
import time


def hold(lock):
    lock.acquire()
    time.sleep(1000)


def main():
    lock = multiprocessing.Lock()
    multiprocessing.Process(target=hold, args=(lock,), name="holder", daemon=True).start()
    time.sleep(0.5)
    with lock:
        pass


if __name__ == "__main__":
    main()
