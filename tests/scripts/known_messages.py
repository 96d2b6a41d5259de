"""Asks another process over a socket, ten times in an operation, and says what it sent and got."""

import json
import multiprocessing
import socket

import rlscope

ASKED, ANSWERED, TIMES = 1000, 70_000, 10


def whole(end: socket.socket, size: int) -> None:
    while size > 0:
        size -= len(end.recv(size))


def answer(end: socket.socket) -> None:
    for _ in range(TIMES):
        whole(end, ASKED)
        with rlscope.operation("simulation"):
            end.sendall(memoryview(bytes(ANSWERED)))


if __name__ == "__main__":
    ours, theirs = socket.socketpair()
    process = multiprocessing.get_context("fork").Process(target=answer, args=(theirs,), name="answering")
    process.start()
    theirs.close()
    for _ in range(TIMES):
        with rlscope.operation("inference"):
            ours.sendall(bytes(ASKED))
        whole(ours, ANSWERED)
    ours.close()
    process.join()
    print(json.dumps({"sent": TIMES * ASKED, "received": TIMES * ANSWERED}))
