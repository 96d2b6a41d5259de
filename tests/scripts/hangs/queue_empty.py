"""A consumer waits for a queue that nobody fills."""

import multiprocessing
import time


def produce(queue):
    for i in range(5):
        queue.put(i)
    time.sleep(1000)


def main():
    queue = multiprocessing.Queue()
    multiprocessing.Process(target=produce, args=(queue,), name="producer", daemon=True).start()
    while True:
        queue.get()


if __name__ == "__main__":
    main()
