"""Advice: what bounds a run, with the seconds behind it, and what a change could save at most."""

from dataclasses import asdict, dataclass

from rlscope.analysis.account.counted_waits import Wait
from rlscope.analysis.account.kinds import STANDS_OUT, Bound, CauseTime, cause_times
from rlscope.analysis.advice.changes import Change, changes_of
from rlscope.analysis.advice.sentences import Sentences, sentences, worth_trying
from rlscope.analysis.run_tables import RunTables


@dataclass(frozen=True)
class Advice:
    """The answer to what bounds a run.

    Attributes:
        process: the process that paces the run.
        total_s: the length of its owner path.
        cause: the largest cause.
        seconds: the seconds of that cause.
        share: its share of the path, from 0 to 1.
        stands_out: the share is large enough to call the run bound by it, and no threads work beside each other.
        causes: all causes, the largest first; their shares sum to 1.
        changes: all changes, the one that could save most first; none where threads work beside each other.
        waits: its waits that are for nobody whose work is known, the longest first.
        beside_s: the seconds in which two or more threads were busy at once.
        sentences: the sentences that say all that.
    """

    process: str
    total_s: float
    cause: Bound
    seconds: float
    share: float
    stands_out: bool
    causes: tuple[CauseTime, ...]
    changes: tuple[Change, ...]
    waits: tuple[Wait, ...]
    beside_s: float
    sentences: Sentences

    @property
    def text(self) -> str:
        """Return the paragraph."""
        return self.sentences.text

    @property
    def worth_trying(self) -> list[str]:
        """Say what each change that may save enough could do, the best first."""
        return worth_trying(self.changes, self.total_s)

    def to_json_dict(self) -> dict[str, object]:
        """Return the attributes as `analyze --json` has them, with the sentences as one `text`, too."""
        return asdict(self) | {"text": self.text}


def advise(tables: RunTables) -> Advice | None:
    """Tell what bounds a run; return None if no process took time."""
    path = tables.path
    if path is None:
        return None
    causes = cause_times(path.mix)
    changes = changes_of(path, tables.gpu_operations, tables.sample_tails, tables.device_idle)
    first = causes[0]
    return Advice(
        process=path.process,
        total_s=path.total_s,
        cause=first.cause,
        seconds=first.seconds,
        share=first.share,
        stands_out=first.share >= STANDS_OUT and not path.works_beside,
        causes=causes,
        changes=changes,
        waits=path.unfollowed,
        beside_s=path.beside_s,
        sentences=sentences(tables, path, causes, changes),
    )
