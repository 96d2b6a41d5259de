"""The main process waits for a worker that computes for long."""

import multiprocessing


def work(pipe):
    pipe.send(sum(number * number for number in range(pipe.recv())))


def main():
    ours, theirs = multiprocessing.Pipe()
    multiprocessing.Process(target=work, args=(theirs,), name="worker", daemon=True).start()
    ours.send(10**12)
    ours.recv()


if __name__ == "__main__":
    main()
