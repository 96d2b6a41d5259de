"""This file finds operations that were meant as a stage, by their name: `Inference`, `simulate`, `backward`."""

import heapq

from rlscope.analysis.analysis import Analysis
from rlscope.analysis.rows import sums
from rlscope.model import NO_OPERATION, STAGES, Stage

#: How a name begins that means a stage.
STEMS: dict[str, str] = {stem: stage.value for stage in Stage for stem in stage.stems}
#: A stage's name with two letters swapped or one left out is at least as like it as this; other words are not.
LIKENESS = 0.8
#: A name such as `step 17` makes millions of operations; comparing each would take hours, and no line be read.
MOST_NAMES = 100


def stage_meant(operation: str) -> str | None:
    """Return the stage that an operation's name is nearly the name of; None for a stage's own name."""
    if set(operation.split("+")) <= set(STAGES):  # a compiled function of two stages has both names
        return None
    name = operation.casefold()
    stem = next((stage for stem, stage in STEMS.items() if name.startswith(stem)), None)
    if stem is not None:
        return stem
    from difflib import get_close_matches  # which a run whose operations are all in stages does not need

    return next(iter(get_close_matches(name, STAGES, 1, LIKENESS)), None)


def stage_name_lines(analysis: Analysis) -> list[str]:
    """Return one line for each of the longest operations outside all stages that has nearly a stage's name."""
    seconds = sums(
        (row.operation, row.seconds)
        for row in analysis.breakdown
        if row.stage not in STAGES and row.operation != NO_OPERATION
    )
    outside = sorted(heapq.nlargest(MOST_NAMES, seconds, key=lambda name: seconds[name]))
    return [
        f"operation `{name}` belongs to no stage: the stages are called {', '.join(STAGES)}; "
        f"was `{stage}` meant? Then name it so"
        for name in outside
        if (stage := stage_meant(name))
    ]
