"""This file measures how often `rlscope compare` is right, on equal runs and on runs of which one stage is slower.

60 runs of a loop are recorded in turns with 60 in which one stage, half of the loop, is 10 % longer. Pairs of five
runs a side are drawn from them, equal ones and different ones, and compared. `--keep DIR` records into DIR, or takes
what lies there from before.
"""

import argparse
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev

from benchmarks import OUTPUT
from benchmarks.result import Target, Value, print_results, results
from rlscope.compare.comparison import Comparison, Word, compare
from rlscope.compare.folders import open_runs, read_runs
from rlscope.compare.parts import Kind
from rlscope.compare.run_times import RunTimes, Unit
from rlscope.compare.sides import Side

RUNS = 60
A_SIDE = 5
PAIRS = 200
#: More than of equal ones: what is found is to be 9 in 10, and 200 pairs tell that only to 4 %.
DIFFERENT_PAIRS = 1000
SLOWER_PERCENT = 10
STAGE = "backpropagation"
WORKLOAD = Path(__file__).with_name("workload.py")
#: So many of 200 verdicts on equal runs may be wrong: chance makes 10 of them, and seldom more than 16.
MOST_ALARMS = 16
LEAST_FOUND = 0.9


def main() -> None:
    """Record, draw pairs, print results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path)
    kept: Path | None = parser.parse_args().keep
    OUTPUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=OUTPUT) as temporary:
        folder = kept or Path(temporary) / "runs"
        if not folder.exists():
            record(folder)
        usual, slower = (read_runs(open_runs(folder / side)) for side in "AB")
    generator = random.Random(0)
    equal = [drawn(generator, usual, None) for _ in range(PAIRS)]
    different = [drawn(generator, usual, slower) for _ in range(DIFFERENT_PAIRS)]
    means = [run.mean_s for run in usual]
    note = f"runs scatter by {100 * stdev(means) / fmean(means):.2g} %, {A_SIDE} of them a side"
    words = [found.word for found in equal]
    alarms = sum(word in (Word.FASTER, Word.SLOWER) for word in words)
    said = ", ".join(f"{word.value} {words.count(word)}" for word in Word)
    wrong_stages = sum(bool(found.sure(Kind.STAGE)) for found in equal)
    wrong_parts = sum(bool(found.sure(*Kind)) for found in equal)
    right = sum(stages_of(found) == {STAGE} for found in different) / DIFFERENT_PAIRS
    slow = sum(found.word is Word.SLOWER for found in different) / DIFFERENT_PAIRS
    metrics = (
        ("compare: alarms of equal runs", float(alarms), Target(MOST_ALARMS), f"{note}, {PAIRS} pairs: {said}"),
        (
            "compare: pairs of equal runs in which a stage seems to differ",
            float(wrong_stages),
            Target(MOST_ALARMS),
            note,
        ),
        ("compare: pairs of equal runs in which any part does", float(wrong_parts), Target(MOST_ALARMS), note),
    )
    for name, value, target, text in metrics:
        print_results(results(name, "pairs", Value(value), target=target, note=text))
    least = Target(LEAST_FOUND, is_ceiling=False)
    text = f"{note}, {DIFFERENT_PAIRS} pairs; {STAGE} is {SLOWER_PERCENT} % longer"
    print_results(results("compare: slower runs found", "share", Value(slow), note=text))
    print_results(results("compare: that stage found, and no other", "share", Value(right), target=least, note=text))


def record(folder: Path) -> None:
    """Record the runs in turns."""
    usual = f"{sys.executable} {WORKLOAD}"
    rlscope = str(Path(sys.executable).with_name("rlscope"))
    command = [rlscope, "bench", "-n", str(RUNS), "-o", str(folder), usual, f"{usual} {SLOWER_PERCENT}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def drawn(generator: random.Random, usual: Sequence[RunTimes], slower: Sequence[RunTimes] | None) -> Comparison:
    """Compare runs that are drawn without putting any back; both sides are usual unless slower ones are given."""
    runs = generator.sample(usual, A_SIDE * (2 if slower is None else 1))
    others = runs[A_SIDE:] if slower is None else generator.sample(slower, A_SIDE)
    base = Side("A", tuple(runs[:A_SIDE]), Unit.ITERATION)
    return compare(base, Side("B", tuple(others), Unit.ITERATION))


def stages_of(found: Comparison) -> set[str]:
    """Return the stages that differ for sure."""
    return {row.part.stage for row in found.sure(Kind.STAGE)}


if __name__ == "__main__":
    main()
