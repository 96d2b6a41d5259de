"""A process was killed that had a lock of multiprocessing."""

import multiprocessing
import os
import signal


def hold(lock, taken):
    lock.acquire()
    taken.set()
    os.kill(os.getpid(), signal.SIGKILL)


def main():
    context = multiprocessing.get_context("spawn")
    lock, taken = context.Lock(), context.Event()
    context.Process(target=hold, args=(lock, taken), name="holder", daemon=True).start()
    taken.wait()
    with lock:
        pass


if __name__ == "__main__":
    main()
