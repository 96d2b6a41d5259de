"""Functions with stopwatches around them: `line_shares.py CPU_SECONDS` writes how long each took, as JSON."""

import json
import sys
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterator

import rlscope

took: Counter[str] = Counter()


def short(times: int) -> int:
    total = 0
    for number in range(times):
        total += number
    return total


def long(times: int) -> int:
    total = 0
    for number in range(times):
        total += number
    return total


def größe(times: int) -> int:
    total = 0
    for number in range(times):
        total += number * number
    return total


def one_to_three(times: int) -> int:
    x = 1
    for i in range(times):
        x = (x * 31 + i) % 1003 + (x ^ i) % 77
        x = (x * 31 + i) % 1003 + (x ^ i) % 77; x = (x * 31 + i) % 1003 + (x ^ i) % 77; x = (x * 31 + i) % 1003 + (x ^ i) % 77  # noqa: E501, E702  # fmt: skip
    return x


def numbers(times: int) -> Iterator[int]:
    for number in range(times):
        yield number * number % 7


def summed(times: int) -> int:
    return sum(numbers(times))


def recursive(times: int) -> int:
    return 0 if times == 0 else recursive(times - 1) + times % 7


def recurses(times: int) -> None:
    for _ in range(times // 100):
        recursive(100)


def native(times: int) -> None:
    data = bytes(2 * times)
    zlib.compress(data, 9)


MADE = """
def made(times):
    total = 0
    for number in range(times):
        total -= number
"""
exec(compile(MADE, "<made>", "exec"))
PARTS = (
    (short, 20_000), (long, 80_000), (größe, 30_000), (one_to_three, 8_000), (summed, 30_000), (recurses, 20_000),
    (native, 100_000), (made, 30_000),  # type: ignore[name-defined]  # noqa: F821
)  # fmt: skip


def run(operation: str, cpu_s: float) -> None:
    end_s = time.process_time() + cpu_s
    with rlscope.operation(operation):
        while time.process_time() < end_s:
            for part, times in PARTS:
                start = time.perf_counter()
                part(times)
                took[f"{operation}/{part.__name__}"] += time.perf_counter() - start


rlscope.wrap_module(zlib, category="backend")
cpu_s = float(sys.argv[1])
run("simulation", cpu_s / 2)
thread = threading.Thread(target=run, args=("inference", cpu_s / 2))
thread.start()
thread.join()
print(json.dumps(took))
