"""This file writes where the time of a run went as folded stacks, for flame graphs."""

import re
from collections.abc import Callable

from rlscope.export.run import ExportRun
from rlscope.model import CATEGORIES, NS_PER_S
from rlscope.text import printable

#: What a process does is one of these.
LINE = re.compile(rf"(?:[^;]*;){{3}}(?:{'|'.join(CATEGORIES)})(?:;[^;]*)? \d+")


def write_folded(run: ExportRun, write: Callable[[bytes], object]) -> int:
    """Give one line per function to `write`, with its nanoseconds behind its stack, and return how many there are.

    The lines of a process sum to its life, as those of `Analysis.calls` do.
    """
    lines = 0
    for row in run.analysis.calls:
        frames = [row.process, row.stage, row.operation, row.category, *([row.function] if row.function else [])]
        if nanoseconds := round(row.seconds * NS_PER_S):
            write(f"{';'.join(map(_frame, frames))} {nanoseconds}\n".encode(errors="replace"))
            lines += 1
    return lines


def is_folded(begin: bytes, _: bytes) -> bool:
    """Tell whether a file begins with such lines, which have no place for a mark: with a layer in the fourth frame."""
    whole = begin.decode(errors="replace").rpartition("\n")[0].split("\n")
    return all(LINE.fullmatch(line) for line in whole)


def _frame(name: str) -> str:
    return printable(name).replace(";", ",")
