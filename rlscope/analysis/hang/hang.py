"""This file says what a run was stuck in when it ended, which is no time that a change would save."""

from __future__ import annotations

from dataclasses import dataclass

from rlscope.analysis.sweep import TraceSweep


@dataclass(frozen=True)
class Hang:
    """A run was stuck in this.

    Attributes:
        sentence: In words: who waits for whom, since when, and in whom the chain of waits ends.
        cause: What it ends in: `cycle`, `ended`, `stopped`, `lost`, `native`, `timer`, `events` or `nobody`.
        seconds: For how long nothing went on.
        processes: Whose threads the chain consists of, in its order.
        end: The process that it ends in, which has ended or is stopped; None with another cause.
    """

    sentence: str
    cause: str
    seconds: float
    processes: tuple[str, ...]
    end: str | None

    def seconds_of(self, process: str) -> float:
        """Return for how long a process waited in vain."""
        return self.seconds if process in self.processes else 0.0


def hang_of(swept: TraceSweep) -> Hang | None:
    """Return what a run was stuck in when it ended; None if it went on until then."""
    from rlscope.analysis.hang.standing import last_ns, standing_at  # which runs that end in order do not need

    time_ns = max(last_ns(file) for file in swept.trace.processes)
    found = standing_at(swept, {}, time_ns, is_running=False)
    chain = found.chain
    if chain is None or not found.is_stuck:
        return None
    return Hang(
        found.sentence,
        chain.cause.value,
        found.stuck_s,
        tuple(thread.process.name for thread in chain.threads),
        chain.end.name if chain.end is not None else None,
    )
