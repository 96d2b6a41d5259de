"""Starts children in one way; each runs one operation. Arguments: the way, how many."""

import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

import rlscope

AT_ONCE = 8
CHILD = "import rlscope\nwith rlscope.operation('child'): pass"


def work(number: int = 0) -> int:
    with rlscope.operation("child"):
        return number


def run_processes(method: str, count: int) -> None:
    context = multiprocessing.get_context(method)
    for _ in range(0, count, AT_ONCE):
        processes = [context.Process(target=work) for _ in range(AT_ONCE)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
            assert process.exitcode == 0


def run_named(method: str, count: int) -> None:
    context = multiprocessing.get_context(method)
    for index in range(count):
        process = context.Process(target=work, name=f"child_{index}")
        process.start()
        process.join()


def run_pool(method: str, count: int) -> None:
    # A worker takes one task and makes room for the next worker.
    with multiprocessing.get_context(method).Pool(AT_ONCE, maxtasksperchild=1) as pool:
        assert pool.map(work, range(count), chunksize=1) == list(range(count))
        pool.close()
        pool.join()


def run_executor(method: str, count: int) -> None:
    for _ in range(0, count, AT_ONCE):
        with ProcessPoolExecutor(AT_ONCE, mp_context=multiprocessing.get_context(method)) as executor:
            assert list(executor.map(work, range(AT_ONCE))) == list(range(AT_ONCE))


def run_subprocesses(count: int) -> None:
    for _ in range(0, count, AT_ONCE):
        processes = [subprocess.Popen([sys.executable, "-c", CHILD]) for _ in range(AT_ONCE)]
        assert [process.wait() for process in processes] == [0] * AT_ONCE


def run_forks(count: int) -> None:
    for _ in range(count):
        with rlscope.operation("parent"):
            pid = os.fork()
            if pid == 0:
                work()
                os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0


if __name__ == "__main__":
    way, _, method = sys.argv[1].partition("-")
    count = int(sys.argv[2])
    if way == "process":
        run_processes(method, count)
    elif way == "named":
        run_named(method, count)
    elif way == "pool":
        run_pool(method, count)
    elif way == "executor":
        run_executor(method, count)
    elif way == "subprocess":
        run_subprocesses(count)
    else:
        run_forks(count)
    print("done")
