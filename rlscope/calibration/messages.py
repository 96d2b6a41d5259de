"""This file measures what a step of an environment costs more in a process of its own than in the one that asks.

`python -m rlscope.calibration.messages` prints one JSON document: by the number of processes the processor time of all
of them for each step, in ns, of each measurement.
"""

from __future__ import annotations

import ast
import copy
import json
import multiprocessing
import random
import re
import resource
import statistics
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess

PROCESSES = (1, 2, 4, 8)
TIMES, STEPS = 5, 480
#: How much code an agent and an environment run for a step. The price of taking turns is mostly that each finds the
#: core's caches full of the other's code and data: a loop of one line has a quarter of it.
OF_AGENT, OF_ENVIRONMENT = 2, 1
NS_PER_S = 1_000_000_000


class Environment:
    """An environment whose step is a wide piece of Python."""

    def __init__(self) -> None:
        """Begin with a seed, so that each measurement does the same."""
        self._random = random.Random(1)

    def work(self, times: int) -> list[float]:
        """Do what passes through much code of the interpreter; return what an environment observes."""
        observed = [0.0] * 8
        for _ in range(times):
            state = {"a": [self._random.random() for _ in observed], "b": {"c": "x y z " * 5}}
            copied = json.loads(json.dumps(copy.deepcopy(state)))
            words = re.sub(r"(\w) ", r"\1_", copied["b"]["c"])
            ast.parse("[each for each in range(9)]", words)
            observed = [each - statistics.fmean(copied["a"]) for each in copied["a"]]
        return observed

    def step(self) -> tuple[list[float], float, bool, bool, dict[str, int]]:
        """Return what libraries send back for a step."""
        return self.work(OF_ENVIRONMENT), 1.0, False, False, {}


def _answer(asked: Connection) -> None:
    environment = Environment()
    while asked.recv() is not None:
        asked.send(environment.step())


def _used_ns() -> int:
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return round(sum(each.ru_utime + each.ru_stime for each in used) * NS_PER_S)


def processor_ns(processes: int, steps: int, is_apart: bool) -> int:
    """Return the processor time of so many steps of each environment, in processes of their own or not."""
    agent = Environment()
    begun = _used_ns()
    if not is_apart:
        environments = [Environment() for _ in range(processes)]
        for _ in range(steps):
            agent.work(OF_AGENT)
            for environment in environments:
                environment.step()
        return _used_ns() - begun
    context = multiprocessing.get_context("fork")
    ends: list[Connection] = []
    workers: list[ForkProcess] = []
    for _ in range(processes):
        mine, theirs = context.Pipe()
        ends.append(mine)
        workers.append(context.Process(target=_answer, args=(theirs,), daemon=True))
        workers[-1].start()
        theirs.close()
    for _ in range(steps):
        agent.work(OF_AGENT)
        for end in ends:
            end.send(("step", 1))
        for end in ends:
            end.recv()
    for end, worker in zip(ends, workers, strict=True):
        end.send(None)
        worker.join()
    return _used_ns() - begun


def prices_ns(processes: int) -> list[float]:
    """Return what a step costs more in processes of their own; starting these is left out by a run without steps."""
    steps = STEPS // processes
    found = []
    for _ in range(TIMES):
        apart_ns = processor_ns(processes, steps, True) - processor_ns(processes, 0, True)
        found.append((apart_ns - processor_ns(processes, steps, False)) / (steps * processes))
    return found


if __name__ == "__main__":
    print(json.dumps({str(processes): prices_ns(processes) for processes in PROCESSES}))
