"""Launch kernels of known length with known gaps, each pair of these for some seconds in an operation of its own.

    python tiny_kernels.py --kernels-us 2 10 --gaps-us 0 200 --seconds 3

A kernel is one thread that spins, on one of the device's multiprocessors; in the operation `wide` it fills them all.
The host waits for each kernel, and then for as long as the gap. Prints one line of JSON: what was launched, and when.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rlscope import operation

#: Of the calibration: so many that launching adds nothing to their time, and that the device is at its clock rate.
CALIBRATION_CYCLES, CALIBRATIONS = 20_000_000, 10
#: How many numbers the wide kernel adds to: some for each thread of any device.
WIDE_NUMBERS = 1 << 26
WIDE = "wide"


@dataclass(frozen=True)
class Point:
    """This is what is launched in one operation.

    Attributes:
        operation: its name.
        kernel_us: how long a kernel is to run; None for the wide one, which runs for as long as it takes.
        gap_us: from the end of a kernel, as the host sees it, to the next launch.
    """

    operation: str
    kernel_us: float | None
    gap_us: float


@dataclass(frozen=True)
class Driven:
    """This says how often something was launched, between two times of CLOCK_MONOTONIC."""

    launches: int
    start_ns: int
    end_ns: int


def points(kernels_us: Sequence[float], gaps_us: Sequence[float]) -> Iterator[Point]:
    """Yield each length with each gap, and the wide kernel without one."""
    for kernel_us in kernels_us:
        for gap_us in gaps_us:
            yield Point(f"kernel_{kernel_us:g}us_gap_{gap_us:g}us", kernel_us, gap_us)
    yield Point(WIDE, None, 0.0)


def drive(execute: Callable[[], None], gap_us: float, seconds: float) -> Driven:
    """Execute again and again for so many seconds; the last gap is waited for as well.

    Args:
        execute: launches a kernel and waits for its end.
        gap_us: between two kernels, in which the host spins: sleeping would make it longer by an unknown time.
        seconds: after which no kernel follows.
    """
    launches = 0
    start_ns = now_ns = time.monotonic_ns()
    while now_ns < start_ns + 1e9 * seconds:
        execute()
        launches += 1
        now_ns = time.monotonic_ns()
        next_ns = now_ns + 1000 * gap_us
        while now_ns < next_ns:
            now_ns = time.monotonic_ns()
    return Driven(launches, start_ns, now_ns)


def cycles_per_us(torch: Any) -> float:
    """Return how fast the device counts the cycles of the spinning kernel, by its own events; the fastest of some
    kernels.
    """
    fastest = 0.0
    for _ in range(CALIBRATIONS):
        before, after = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        before.record()
        torch.cuda._sleep(CALIBRATION_CYCLES)
        after.record()
        torch.cuda.synchronize()
        fastest = max(fastest, CALIBRATION_CYCLES / (1000 * before.elapsed_time(after)))
    return fastest


def spinning(torch: Any, cycles: int) -> Callable[[], None]:
    """Return what executes the kernel of one thread."""

    def execute() -> None:
        torch.cuda._sleep(cycles)
        torch.cuda.synchronize()

    return execute


def wide(torch: Any) -> Callable[[], None]:
    """Return what executes the kernel that fills the device; it has run once."""
    numbers = torch.zeros(WIDE_NUMBERS, device="cuda")

    def execute() -> None:
        numbers.add_(1)
        torch.cuda.synchronize()

    execute()
    return execute


def positive(text: str) -> float:
    """Return microseconds or seconds, as an option."""
    return number(text, above=True)


def not_negative(text: str) -> float:
    """Return microseconds that may be none."""
    return number(text, above=False)


def number(text: str, above: bool) -> float:
    """Return a number above 0, or at least 0."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not (0 < value < 1e9 or (value == 0 and not above)):
        expected = "a number above 0" if above else "a number, at least 0"
        raise argparse.ArgumentTypeError(f"expected {expected}, found {text!r}")
    return value


def parse() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--kernels-us", type=positive, nargs="+", required=True, metavar="US", help="how long kernels run")
    add("--gaps-us", type=not_negative, nargs="+", required=True, metavar="US", help="from one kernel to the next")
    add("--seconds", type=positive, required=True, help="of each operation")
    return parser.parse_args()


def main() -> None:
    """Launch as the command line says."""
    arguments = parse()
    import torch  # only now: a mistake on the command line is told at once

    if not torch.cuda.is_available():
        raise SystemExit("tiny_kernels.py: expected a GPU that PyTorch can use, found none; run it where there is one")
    rate = cycles_per_us(torch)
    execute_wide = wide(torch)
    found = []
    for point in points(arguments.kernels_us, arguments.gaps_us):
        execute = execute_wide if point.kernel_us is None else spinning(torch, max(1, round(rate * point.kernel_us)))
        with operation(point.operation):
            driven = drive(execute, point.gap_us, arguments.seconds)
        found.append(asdict(point) | asdict(driven))
    print(json.dumps({"cycles_per_us": rate, "points": found}))


if __name__ == "__main__":
    main()
