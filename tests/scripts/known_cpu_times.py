"""Spends known processor time in operations that also sleep: prints seconds by operation, and of all, as JSON."""

import json
import time
from collections import Counter
from collections.abc import Callable

import rlscope

TIMES: Counter[str] = Counter()


def spin(ns: int) -> None:
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end:
        pass


def timed(operation: str, work: Callable[[], object]) -> None:
    with rlscope.operation(operation):
        start_ns = time.thread_time_ns()
        work()
        TIMES[operation] += time.thread_time_ns() - start_ns


begun_ns = time.thread_time_ns()
for _ in range(100):
    timed("spins", lambda: spin(2_000_000))
    timed("sleeps", lambda: time.sleep(0.002))
    timed("spins_and_sleeps", lambda: (spin(1_000_000), time.sleep(0.001)))
    with rlscope.operation("outer"):
        for _ in range(20):
            timed("short", lambda: spin(10_000))
        spin(500_000)
TIMES["all"] = time.thread_time_ns() - begun_ns
print(json.dumps({operation: ns / 1e9 for operation, ns in TIMES.items()}))
