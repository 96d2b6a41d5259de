"""What the study of GPU utilization makes of recorded kernels of known length."""

import pandas

from experiments.gpu_utilization import run as study
from experiments.utilization_results import COLUMNS

GAPS_US = (0, 20, 200, 2000, 20_000, 200_000)


def points(repetitions: int = 1) -> pandas.DataFrame:
    """A launch takes 10 us, and what is reported is whether a kernel ran in the last 20 ms."""
    rows = []
    for repetition in range(repetitions):
        for kernel_us in (2, 10, 100, 1000):
            for gap_us in GAPS_US:
                turn_us = kernel_us + gap_us + 10
                busy = kernel_us / turn_us
                reported = min(1, (kernel_us + 20_000) / turn_us)
                name = f"kernel_{kernel_us}us_gap_{gap_us}us"
                row = (kernel_us, gap_us, 3e6 // turn_us, 3, kernel_us, reported, busy, 100 * busy / 132, 1.6)
                rows.append((repetition, name, *row))
        rows.append((repetition, "wide", float("nan"), 0, 25_000, 3, 110, 1, 0.92, 91, 85))
    return pandas.DataFrame(rows, columns=COLUMNS)
