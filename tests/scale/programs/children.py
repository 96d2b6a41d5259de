"""Starts many children in one way; all are alive at once, and then all end at once. Arguments: the way, how many.

Prints their process ids, and their names where they have one, as JSON.
"""

import json
import multiprocessing
import os
import subprocess
import sys
from multiprocessing.synchronize import Barrier

import rlscope

CHILD = """
import os, sys
import rlscope
with rlscope.operation("child"):
    os.write(int(sys.argv[1]), b".")
    os.read(int(sys.argv[2]), 1)
"""


def work(barrier: Barrier) -> None:
    with rlscope.operation("child"):
        barrier.wait()


def run_processes(method: str, count: int) -> dict[int, str]:
    context = multiprocessing.get_context(method)
    barrier = context.Barrier(count + 1)
    processes = [context.Process(target=work, args=(barrier,), name=f"child_{i}") for i in range(count)]  # type: ignore[attr-defined]
    for process in processes:
        process.start()
    barrier.wait()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    return {process.pid: process.name for process in processes if process.pid is not None}


def run_subprocesses(count: int) -> dict[int, str]:
    arrived, arrive = os.pipe()
    gate, gate_keeper = os.pipe()
    command = [sys.executable, "-c", CHILD, str(arrive), str(gate)]
    processes = [subprocess.Popen(command, pass_fds=(arrive, gate)) for _ in range(count)]
    for _ in processes:
        assert os.read(arrived, 1) == b"."
    os.close(gate_keeper)  # what all of them read ends
    assert [process.wait() for process in processes] == [0] * count
    return {process.pid: "" for process in processes}


if __name__ == "__main__":
    way, count = sys.argv[1], int(sys.argv[2])
    print(json.dumps(run_subprocesses(count) if way == "subprocess" else run_processes(way, count)))
