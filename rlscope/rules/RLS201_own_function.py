"""Call the function that has most of the training less often, or make it cheaper.

**Why it is slow.** Python takes 30 to 100 ns for each operation: a loop over elements takes a hundred times as long
as the same in NumPy or PyTorch.

**Slow**

    for index in range(len(rewards)):
        returns[index] = sum(gamma**k * r for k, r in enumerate(rewards[index:]))

**Faster**

    for index in reversed(range(len(rewards))):    # each value once, or scipy.signal.lfilter
        total = returns[index] = rewards[index] + gamma * total

**How it is found.** Stacks that pass a function of the program's own, or a line that calls a library, have an eighth
of the training or more. Nearly all of the function's time is for one stage, or for none. Of the training loop itself
a line is named that has this time alone, or with functions in C.

**When it is wrong.** What the function does may be what the training is for.

**Reported:** DLR-RM/stable-baselines3 #1854, QuTech-Delft/qgym #93: what users do around the library.
"""

from collections.abc import Iterator

from rlscope.analysis.account.account import AccountRow
from rlscope.analysis.account.causes import Cause
from rlscope.model import Category
from rlscope.rules.evidence import Evidence, place_of, where
from rlscope.rules.finding import Found
from rlscope.text import line_text

IS_GENERAL = True
#: What is not the algorithm's own work may be the program's own code alone: environments, and what is in no stage.
_OWN = (Cause.SIMULATION, Cause.NO_STAGE, Cause.NO_LOOP)
#: A script's own code is called by nobody.
_NO_FUNCTION = ("", "<module>")
_OF_CPU = tuple(category.label for category in (Category.PYTHON, Category.NATIVE, Category.BACKEND))


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for functions and lines of the program's own code on which nothing else depends."""
    groups: list[list[AccountRow]] = []
    for row in evidence.training:
        if row.apart not in _NO_FUNCTION and Cause(row.cause) in _OWN and row.category in _OF_CPU:
            same = next((each for each in groups if any(_are_one(other, row) for other in each)), None)
            if same is None:
                groups.append([row])
            else:
                same.append(row)
    for same in groups:
        seconds = sum(row.seconds * row.apart_share for row in same)
        function = next((row.apart for row in same if row.apart == row.function), same[0].apart)
        place = place_of(same[0])
        change = (
            f"call {function} less often, or make it cheaper: {evidence.share(seconds)} of the training pass it"
            f"{where(place)}"
        )
        callers = evidence.stacks.callers(place) if function == place.function else []
        if callers:
            change += f", from {' and '.join(line_text(each.file, each.line) for each in callers)}"
        yield Found(change, f"account: apart={same[0].apart}", seconds, place)
    for row in evidence.training:
        if row.apart in _NO_FUNCTION and _is_line_alone(row):
            seconds, place = row.seconds * row.line_share, place_of(row)
            line = evidence.line_at(place)
            written = f"`{line.statement}` " if line is not None and line.statement else "this line "
            change = f"make {written}cheaper, or run it less often: {evidence.share(seconds)} of the training"
            yield Found(f"{change}{where(place)}", row.evidence, seconds, place)


def _is_line_alone(row: AccountRow) -> bool:
    """Return whether a line of the loop itself has this time, with what it calls in C, and no function."""
    is_python = row.category in (Category.PYTHON.label, Category.NATIVE.label)
    return is_python and Cause(row.cause) in _OWN and bool(row.line) and not row.called


def _are_one(row: AccountRow, other: AccountRow) -> bool:
    """Return whether two rows, of two layers or processes, are of one function or line, or one calls the other."""
    is_one = row.apart == other.apart or row.line == other.line
    return row.file == other.file and (is_one or row.function == other.apart or other.function == row.apart)
