"""Advice: what bounds a run, with the seconds behind it, and what a change could save at most."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rlscope.analysis.causes import Cause
from rlscope.analysis.changes import NOTHING, Change, changes_of
from rlscope.analysis.owner_path import Followed, OwnerPath, owner_path
from rlscope.model import NO_OPERATION, STAGES
from rlscope.text import printable

if TYPE_CHECKING:
    from rlscope.analysis.breakdown import Analysis

#: A smaller cause does not stand out: without it the run would be at most 1.5 times as fast.
STANDS_OUT = 1 / 3
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


@dataclass(frozen=True)
class CauseTime:
    """How much of the owner path has a cause.

    Attributes:
        cause: what.
        seconds: how long.
        share: of the path, from 0 to 1.
        stage: in which most of it was.
        stage_s: how much.
    """

    cause: Cause
    seconds: float
    share: float
    stage: str
    stage_s: float


@dataclass(frozen=True)
class Advice:
    """What bounds a run.

    Attributes:
        process: that paces it.
        total_s: the length of its owner path.
        cause: the largest.
        seconds: of the cause.
        share: of the path, from 0 to 1.
        stands_out: the share is large enough to call the run bound by it.
        causes: all, the largest first; their shares sum to 1.
        changes: all, the one that could save most first.
        sentences: the paragraph: causes, whom was waited for, changes, and what the numbers do not know.
    """

    process: str
    total_s: float
    cause: Cause
    seconds: float
    share: float
    stands_out: bool
    causes: tuple[CauseTime, ...]
    changes: tuple[Change, ...]
    sentences: tuple[str, ...]

    @property
    def text(self) -> str:
        """The paragraph."""
        return " ".join(self.sentences)

    def to_json_dict(self) -> dict[str, Any]:
        """As `analyze --json` has it: the attributes, with the sentences as one `text`."""
        document = asdict(self)
        del document["sentences"]
        return document | {"text": self.text}


def advise(analysis: "Analysis") -> Advice | None:
    """What bounds a run; None if no process took time."""
    path = owner_path(analysis)
    if path is None:
        return None
    causes, changes = _causes(path), changes_of(path)
    first = causes[0]
    sentences = [
        _bound_sentence(path, causes),
        *_rest_sentences(causes),
        *_waited_sentences(path),
        _changes_sentence(path, changes),
        *_limit_sentences(analysis, path),
    ]
    return Advice(
        process=path.process,
        total_s=path.total_s,
        cause=first.cause,
        seconds=first.seconds,
        share=first.share,
        stands_out=first.share >= STANDS_OUT,
        causes=causes,
        changes=changes,
        sentences=tuple(printable(sentence) for sentence in sentences),
    )


def _causes(path: OwnerPath) -> tuple[CauseTime, ...]:
    stages: dict[Cause, dict[str, float]] = {}
    for kind, seconds in path.mix.items():
        if seconds <= NOTHING * path.total_s:
            continue
        of_cause = stages.setdefault(kind.cause, {})
        of_cause[kind.stage] = of_cause.get(kind.stage, 0.0) + seconds
    found = []
    for cause, of_cause in stages.items():
        seconds = sum(of_cause.values())
        stage = max(of_cause, key=lambda name: of_cause[name])
        found.append(CauseTime(cause, seconds, seconds / path.total_s, stage, of_cause[stage]))
    return tuple(sorted(found, key=lambda each: -each.seconds))


def _bound_sentence(path: OwnerPath, causes: Sequence[CauseTime]) -> str:
    first = causes[0]
    spent = f"{_s(first.seconds)} of {_s(path.total_s)} ({100 * first.share:.0f} %){_where(first)}"
    if first.share < STANDS_OUT:
        return f"Nothing stands out; the largest part is {TEXTS[first.cause]}: {spent}."
    rest_s = path.total_s - first.seconds
    without = f"; without it, at most {_times(path.total_s / rest_s)} times as fast" if first.share <= MOST else ""
    return f"Bound by {TEXTS[first.cause]}: {spent}{without}."


def _where(each: CauseTime) -> str:
    if each.stage == NO_OPERATION:
        return ""
    most = "" if each.stage_s > MOST * each.seconds else f"{_s(each.stage_s)} of it "
    return f", {most}in {each.stage}"


def _rest_sentences(causes: Sequence[CauseTime]) -> list[str]:
    rest = [f"{TEXTS[each.cause]} {_s(each.seconds)} ({100 * each.share:.0f} %)" for each in causes[1:]
            if each.share >= SAID]  # fmt: skip
    return [f"Then {', '.join(rest)}."] if rest else []


def _waited_sentences(path: OwnerPath) -> Iterator[str]:
    """Whom the process waited for; what these did is in the causes."""
    for group in path.followed:
        if group.wait_s < SAID * path.total_s:
            continue
        works = f"needed {_s(group.mean_s)}"
        if len(group.names) > 1:
            works += f" on average ({_s(min(group.work_s))} to {_s(max(group.work_s))})"
        spread = f"; the other {_s(group.spread_s)} of waiting are lock-step, transfer, or want of a core"
        yield (
            f"{path.process} waited {_s(group.wait_s)} for {_names(group)}, which {works}"
            f"{spread if group.spread_s >= SAID * path.total_s else ''}"
            f"{_assumed(group)}."
        )


def _names(group: Followed) -> str:
    first = group.names[0]
    return first if len(group.names) == 1 else f"{first} and {len(group.names) - 1} more"


def _assumed(group: Followed) -> str:
    """Said where it is more than a rounding error of what was measured."""
    if group.assumed_s < SAID * group.wait_s:
        return ""
    return f" (that {_s(group.assumed_s)} of it were for them is assumed: the other end was not recorded)"


def _changes_sentence(path: OwnerPath, changes: Sequence[Change]) -> str:
    shown = [change for change in changes if change.saving_s >= SAID * path.total_s]
    if not shown:
        return f"No change that is known here could save {100 * SAID:.0f} %."
    return f"At most: {'; '.join(_change_text(change) for change in shown)}."


def _change_text(change: Change) -> str:
    saved = f"{_s(change.saving_s)} less, if {change.assumption}"
    if change.speedup is None:
        return f"{change.name}, all of it ({saved})"
    return f"{change.name}, {_times(change.speedup)} times as fast ({saved})"


def _limit_sentences(analysis: "Analysis", path: OwnerPath) -> Iterator[str]:
    """What the numbers do not know."""
    known = {change.stage for change in changes_of(path)}
    unknown = [stage for stage in STAGES if stage not in known]
    if unknown:
        yield f"No time is in {' or '.join(unknown)}, so what a change there could save is not known."
    unnamed_s = sum(seconds for kind, seconds in path.mix.items() if kind.stage not in STAGES)
    if len(unknown) < len(STAGES) and unnamed_s >= SAID * path.total_s:
        yield f"{_s(unnamed_s)} are in none of the stages."
    if not path.has_operations:
        yield f"No operation or phase was recorded, so all seconds of {path.process} count, starting up too."
    elif path.left_out_s >= SAID * path.total_s:
        yield f"Left out are {_s(path.left_out_s)} of {path.process} outside operations, as starting up."
    device_s = sum(seconds for kind, seconds in path.mix.items() if kind.cause in (Cause.GPU, Cause.OVERLAP))
    if device_s >= SAID * path.total_s and analysis.gpu_operations["process"].nunique() > 1:
        yield "Other processes used a device too, so part of its time may be waiting for them."
    if not analysis.complete:
        yield f"The trace is incomplete ({analysis.dropped_events:,} records lost), so seconds may be missing."


def _s(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds >= 1000 else f"{seconds:.3g} s"


def _times(speedup: float) -> str:
    return f"{speedup:,.0f}" if speedup >= 100 else f"{speedup:.2g}"
