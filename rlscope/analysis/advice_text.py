"""The sentences in which advice is given: causes, whom was waited for, changes, what the numbers do not know."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rlscope.analysis.causes import STANDS_OUT, Cause, CauseTime, cause_times
from rlscope.analysis.changes import Change
from rlscope.analysis.owner_path import Followed, OwnerPath
from rlscope.model import COMPILE, NO_OPERATION, STAGES, Category
from rlscope.text import printable

if TYPE_CHECKING:
    from rlscope.analysis.breakdown import Analysis

#: Smaller shares are not worth a sentence.
SAID = 0.05
#: A stage that has less of a cause is not all of it.
MOST = 0.99
TEXTS = {
    Cause.COMPILATION: "compilation",
    Cause.GPU: "the GPU",
    Cause.WAITING: "waiting",
    Cause.OVERLAP: "CPU and GPU at once",
    Cause.SIMULATOR: "the simulator",
    Cause.PYTHON: "Python",
    Cause.BACKEND: "the backend's CPU code",
    Cause.LAUNCHES: "CUDA calls",
}
#: The category that is entered with each call.
CALLS = {
    Cause.SIMULATOR: Category.SIMULATOR.label,
    Cause.BACKEND: Category.BACKEND.label,
    Cause.LAUNCHES: Category.CUDA.label,
}


def sentences(
    analysis: "Analysis", path: OwnerPath, causes: Sequence[CauseTime], changes: Sequence[Change]
) -> Iterator[str]:
    """All of them, safe to be shown.

    Args:
        analysis: of the run.
        path: its owner path.
        causes: of the path, the largest first.
        changes: to it, the one that could save most first.
    """
    parts = (
        _cause_sentences(analysis, path, causes),
        _waited_sentences(path),
        _change_sentences(path, changes),
        _limit_sentences(analysis, path, changes),
    )
    return (printable(sentence) for part in parts for sentence in part)


def _cause_sentences(analysis: "Analysis", path: OwnerPath, causes: Sequence[CauseTime]) -> Iterator[str]:
    first = causes[0]
    spent = f"{_s(first.seconds)} of {_s(path.total_s)} ({_percent(first.share)}){_where(first)}"
    spent += _calls(analysis, path, first)
    if first.share < STANDS_OUT:
        yield f"Nothing stands out; the largest part is {TEXTS[first.cause]}: {spent}."
    elif first.share > MOST:
        yield f"Bound by {TEXTS[first.cause]}: {spent}."
    else:
        times = _times(path.total_s / (path.total_s - first.seconds))
        yield f"Bound by {TEXTS[first.cause]}: {spent}; without it, at most {times} times as fast."
    rest = [each for each in causes[1:] if each.share >= SAID]
    if rest:
        listed = (f"{TEXTS[each.cause]} {_s(each.seconds)} ({_percent(each.share)})" for each in rest)
        yield f"Then {', '.join(listed)}."


def _where(each: CauseTime) -> str:
    if each.stage == NO_OPERATION:
        return ""
    most = "" if each.stage_s > MOST * each.seconds else f"{_s(each.stage_s)} of it "
    return f", {most}in {each.stage}"


def _calls(analysis: "Analysis", path: OwnerPath, each: CauseTime) -> str:
    """How many calls the process itself made in the stage, and how long they were: many short or few long ones."""
    category = CALLS.get(each.cause)
    own_s = sum(s for kind, s in path.own.items() if (kind.cause, kind.stage) == (each.cause, each.stage))
    if category is None or each.stage == NO_OPERATION or own_s < MOST * each.stage_s:
        return ""
    table = analysis.transitions
    of_stage = (table["process"] == path.process) & (table["stage"] == each.stage) & (table["to"] == category)
    calls = int(table.loc[of_stage & (table["operation"] != COMPILE), "count"].sum())
    return f", {calls:,} entries of {_s(own_s / calls)}" if calls > 1 else ""


def _waited_sentences(path: OwnerPath) -> Iterator[str]:
    """Whom the process waited for; what these did is in the causes."""
    shown = [group for group in path.followed if group.wait_s >= SAID * path.total_s]
    for group in shown:
        spread = f"; the other {_s(group.spread_s)} of waiting are lock-step, transfer, or want of a core"
        yield (
            f"{path.process} waited {_s(group.wait_s)} for {_names(group)}, which needed {_needed(group)}"
            f"{spread if group.spread_s >= SAID * path.total_s else ''}{_assumed(group)}."
        )
    for function, seconds in path.unfollowed.items():
        if seconds >= SAID * path.total_s:
            yield f"{path.process} waited {_s(seconds)} in {function}, for no process that is known."


def _needed(group: Followed) -> str:
    needed = _s(group.mean_s)
    if len(group.names) > 1:
        works_s = [work.total_s for work in group.works]
        needed += f" on average ({_s(min(works_s))} to {_s(max(works_s))})"
    if group.mean_s > 0:
        most = cause_times(group.mix)[0]
        needed += f", {_percent(most.share)} of it {TEXTS[most.cause]}"
    return needed


def _names(group: Followed) -> str:
    first = group.names[0]
    return first if len(group.names) == 1 else f"{first} and {len(group.names) - 1} more"


def _assumed(group: Followed) -> str:
    """Said where it is more than a rounding error of what was measured."""
    if group.assumed_s < SAID * group.wait_s:
        return ""
    return f" (that {_s(group.assumed_s)} of it were for them is assumed: the other end was not recorded)"


def _change_sentences(path: OwnerPath, changes: Sequence[Change]) -> Iterator[str]:
    shown = [change for change in changes if change.saving_s >= SAID * path.total_s]
    if shown:
        # Of one process alone, to have a simulation elsewhere saves the same wherever that is.
        groups = [list(group) for _, group in groupby(shown, key=lambda change: round(change.saving_s, 9))]
        yield f"At most: {'; '.join(_change_text(group) for group in groups)}."
    elif changes:
        yield f"No change that is known here could save {_percent(SAID)}."


def _change_text(same: Sequence[Change]) -> str:
    names = " or ".join(change.name for change in same)
    first = same[0]
    saved = f"{_s(first.saving_s)} less, if {first.assumption}"
    if first.speedup is None:
        return f"{names}, all of it ({saved})"
    return f"{names}, {_times(first.speedup)} times as fast ({saved})"


def _limit_sentences(analysis: "Analysis", path: OwnerPath, changes: Sequence[Change]) -> Iterator[str]:
    """What the numbers do not know."""
    known = {change.stage for change in changes}
    unknown = [stage for stage in STAGES if stage not in known]
    if unknown:
        yield f"No time of the path is in {' or '.join(unknown)}, so what a change there could save is not known."
    unnamed_s = sum(seconds for kind, seconds in path.mix.items() if kind.is_in_no_stage)
    if len(unknown) < len(STAGES) and unnamed_s >= SAID * path.total_s:
        yield f"{_s(unnamed_s)} are in no stage, where no change counts them."
    if not path.has_operations:
        yield f"No operation or phase was recorded, so all seconds of {path.process} count, starting up too."
    elif path.left_out_s >= SAID * path.total_s:
        yield f"Left out are {_s(path.left_out_s)} of {path.process} outside operations, as starting up."
    device_s = sum(seconds for kind, seconds in path.mix.items() if kind.cause in (Cause.GPU, Cause.OVERLAP))
    if device_s >= SAID * path.total_s and analysis.gpu_operations["process"].nunique() > 1:
        yield "Other processes used a device too, so part of its time may be waiting for them."
    if not analysis.complete:
        yield f"The trace is incomplete ({analysis.dropped_events:,} records lost), so seconds may be missing."


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _s(seconds: float) -> str:
    if seconds >= 1000:
        return f"{seconds:,.0f} s"
    unit, name = (1, "s") if seconds >= 0.01 else (1e3, "ms") if seconds >= 1e-4 else (1e6, "us")
    return f"{seconds * unit:.3g} {name}"


def _times(speedup: float) -> str:
    return f"{speedup:,.0f}" if speedup >= 100 else f"{speedup:.2g}"
