"""A barrier of three of whom one never comes."""

import multiprocessing
import time


def part(barrier, comes):
    if not comes:
        time.sleep(1000)
    barrier.wait()


def main():
    barrier = multiprocessing.Barrier(3)
    ps = [multiprocessing.Process(target=part, args=(barrier, n < 2), name=f"part{n}", daemon=True) for n in range(3)]
    for p in ps:
        p.start()
    for p in ps:
        p.join()


if __name__ == "__main__":
    main()
