"""What the programs of known times share: work under an operation, timed call by call, and callbacks that spin."""

import collections
import threading
import time
from collections.abc import Callable

import rlscope

SECONDS: collections.Counter[str] = collections.Counter()
CALLS: collections.Counter[str] = collections.Counter()
IN_CALLBACKS: collections.Counter[str] = collections.Counter()
#: In which callbacks were called.
THREADS: set[int] = set()


def timed(name: str, work: Callable[[], object], times: int) -> None:
    with rlscope.operation(name):
        for _ in range(times):
            start = time.perf_counter_ns()
            work()
            SECONDS[name] += (time.perf_counter_ns() - start) / 1e9
    CALLS[name] = times


def spin(name: str, seconds: float = 0.03) -> None:
    THREADS.add(threading.get_ident())
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        pass
    IN_CALLBACKS[name] += time.perf_counter() - start
