"""This file reads how hardware counters were sampled and what they say of a run, as `Analysis` has it."""

from dataclasses import dataclass

from rlscope.analysis.rows import Rows
from rlscope.analysis.table_rows import CounterRow


@dataclass(frozen=True)
class SampledDevice:
    """A device whose counters were sampled.

    Attributes:
        device: its number in the trace; None if no recorded process used it.
        uuid: as nvidia-smi writes it.
        samples: how many the trace holds.
        lost_samples: that the device took and nobody read in time; None if that is not known.
        interval_ns: the time from sample to sample that was asked for.
        unattributed_share: of all its active cycles, those in samples in which no recorded work ran: other programs'
            work, the program's own outside of the recording, and what a clock that is off misplaces. None if it was
            never active.
    """

    device: int | None
    uuid: str
    samples: int
    lost_samples: int | None
    interval_ns: int
    unattributed_share: float | None


@dataclass(frozen=True)
class CounterRuns:
    """This says how counters were sampled; `error` says what was not, None where nothing is known to be missing."""

    devices: tuple[SampledDevice, ...]
    error: str | None


@dataclass(frozen=True)
class Counters:
    """This is what counters say of a run; `runs` is None without counters, `why` says what of the samples is
    missing.
    """

    rows: Rows[CounterRow]
    runs: CounterRuns | None
    why: tuple[str, ...]


def counter_label(metric: str, unit: str) -> str:
    """Return what stands over values of a counter: its name, with the unit where that does not say it."""
    return metric if unit in metric else f"{metric} ({unit})"
