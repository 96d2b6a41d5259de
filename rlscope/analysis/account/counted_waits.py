"""The waits of processes that count: for which process each was, as far as that is known."""

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from rlscope.analysis.account.kinds import ProcessTime, waiting_s
from rlscope.analysis.rows import sums
from rlscope.analysis.table_rows import DependencyRow, WaitRow
from rlscope.analysis.tables.dependencies import sends
from rlscope.model import EVALUATION, NO_PHASE, LifePart
from rlscope.record.blocking import DISK, TIMER

#: Waits for another thread, as the sweep tells them too (src/analysis/tables/sweep_tables.cpp).
FOR_THREADS = ("_thread.", "_queue.")
#: Kinds of waits in which no other process has a part.
WITHOUT_PROCESS = (DISK, TIMER)


@dataclass(frozen=True)
class Wait:
    """The time that a process waited in one function, as far as it counts.

    Attributes:
        function: the function in which it waited.
        kind: what it waited for, as in the table of waits.
        seconds: the seconds of waiting.
    """

    function: str
    kind: str
    seconds: float


class CountedWaits:
    """The waits in training loops; of processes that do not show where their loop is, all waits.

    Main has 10 s of waiting on worker_0's pipe, 2 s of them before its loop: `links["main"]["worker_0"]` is 8. It also
    has 1 s in `ray.get`, which names no other end: `open_s["main"]` is 1.

    Attributes:
        links: seconds that a process waited for each other one, where there are any.
        open_s: seconds that a process waited with no other end, but perhaps for another process.
        between_s: seconds that a process waited for another one, or perhaps did, between operations: until it is asked
            to do something, which is not its work.
        unlinked_s: of these, for an end of a pipe or socket that was not recorded.
    """

    def __init__(
        self, waits: Iterable[WaitRow], dependencies: Iterable[DependencyRow], times: Mapping[str, ProcessTime]
    ) -> None:
        """Count the waits of the processes in `times`."""
        evaluating = {process for process, time in times.items() if LifePart.EVALUATION in time.left_out}
        # Without evaluation where that is left out.
        self._edges = [
            edge
            for edge in dependencies
            if edge.process in times and edge.on in times and _counts(edge.process, edge.phase, evaluating)
        ]
        linked = {(edge.process, edge.phase, edge.stream) for edge in self._edges}
        rows = [row for row in waits if row.process in times and _counts(row.process, row.phase, evaluating)]
        readers = {
            row.process for row in rows if not sends(row.function) and (row.process, row.phase, row.stream) in linked
        }
        self._waits = _counted(rows, times, linked, readers)
        self.links = self._find_links(times)
        self.open_s = sums((wait.row.process, wait.counted_s) for wait in self._waits if wait.is_open)
        self.between_s = sums(
            (wait.row.process, wait.between_s) for wait in self._waits if wait.is_for_process or wait.is_linked
        )
        self.unlinked_s = sums(
            (wait.row.process, wait.between_s)
            for wait in self._waits
            if wait.is_for_process and not wait.is_open and not wait.is_linked
        )

    def functions(self, process: str, others: Collection[str], are_open_followed: bool) -> tuple[str, ...]:
        """Return the functions in which a process waited for these others; of open waits as well if those are, too."""
        channels = {
            (edge.process, edge.phase, edge.stream) for edge in self._edges if edge.process == process
            if edge.on in others
        }  # fmt: skip
        names = {
            wait.row.function
            for wait in self._waits
            if wait.channel in channels or (are_open_followed and wait.is_open and wait.row.process == process)
        }
        return tuple(sorted(names))

    def not_followed(self, process: str, are_open_followed: bool) -> tuple[Wait, ...]:
        """Return the waits of a process that are followed to no other process, by function, the longest first.

        Sleeping for 600 times 50 ms gives `Wait("time.sleep", "timer", 30.0)`. Waits without a recorded other
        end are among them unless `are_open_followed`.
        """
        counted_s = sums(
            (wait.function, wait.counted_s)
            for wait in self._waits
            if wait.row.process == process and not wait.is_linked and not (are_open_followed and wait.is_open)
        )
        longest_first = sorted(counted_s.items(), key=lambda item: (-item[1], item[0]))
        return tuple(Wait(*each, seconds) for each, seconds in longest_first)

    def _find_links(self, times: Mapping[str, ProcessTime]) -> dict[str, dict[str, float]]:
        """Seconds by process and process that it waited for.

        If 8 s of 10 s on a pipe count, each process at its other end gets 0.8 of what the table of dependencies says.
        """
        waited_s = sums((wait.channel, wait.row.wait_s) for wait in self._waits)
        counted_s = sums((wait.channel, wait.counted_s) for wait in self._waits)
        links: dict[str, dict[str, float]] = {process: {} for process in times}
        for edge in self._edges:
            channel = edge.process, edge.phase, edge.stream
            link_s = edge.wait_s * (counted_s[channel] / waited_s[channel]) if waited_s[channel] > 0 else 0.0
            if link_s > 0:
                links[edge.process][edge.on] = links[edge.process].get(edge.on, 0.0) + link_s
        return links


@dataclass(frozen=True)
class _CountedWait:
    """A row of waits, and what of it counts.

    Of a row with 100 entries, 10 s of waiting, 8 s of it in the loop and 5 s of it in operations: `counted_s` is 8,
    `between_s` (counted, but in no operation) is 3, and `counted` (entries that count, in proportion) is 80.
    `is_linked` says that its other end is known, `reads` that the process reads from others: if it waits for its own
    thread, that may be one that reads.
    """

    row: WaitRow
    counted_s: float
    between_s: float
    counted: float
    is_linked: bool
    reads: bool

    @property
    def function(self) -> tuple[str, str]:
        """Return the function, and what it waited for."""
        return self.row.function, self.row.kind

    @property
    def channel(self) -> tuple[str, str, str]:
        """Tell channels apart, in the process and phase that waited."""
        return self.row.process, self.row.phase, self.row.stream

    @property
    def _may_be_for_process(self) -> bool:
        is_for_thread = self.row.function.startswith(FOR_THREADS)
        return self.row.kind not in WITHOUT_PROCESS and (self.reads or not is_for_thread)

    @property
    def is_open(self) -> bool:
        """Tell whether the wait has no recorded other end but may be for another process."""
        return not self.row.stream and self._may_be_for_process

    @property
    def is_for_process(self) -> bool:
        """Tell whether the wait is open, or for an end of a channel to be read from."""
        is_channel = self.row.stream != "" and self._may_be_for_process
        return self.is_open or (is_channel and not sends(self.row.function))


def _counts(process: str, phase: str, evaluating: Set[str]) -> bool:
    return phase != EVALUATION or process not in evaluating


def _counted(
    rows: Sequence[WaitRow],
    times: Mapping[str, ProcessTime],
    linked: Set[tuple[str, str, str]],
    readers: Set[str],
) -> list[_CountedWait]:
    """Find what counts of each row; `linked` are channels whose other end is known, `readers` those who read them."""
    is_whole = [row.phase != NO_PHASE or not times[row.process].has_loop for row in rows]
    counted_s = [row.wait_s if whole else row.in_loop_s for row, whole in zip(rows, is_whole, strict=True)]
    # While a device works or something is compiled, the breakdown's time has another cause than waiting.
    shares = {
        process: min(1.0, waiting_s(times[process].mix) / whole_s) if whole_s > 0 else 0.0
        for process, whole_s in sums(zip((row.process for row in rows), counted_s, strict=True)).items()
    }
    return [
        _CountedWait(
            row,
            seconds * shares[row.process],
            0.0 if whole else (seconds - row.in_operations_s) * shares[row.process],
            row.count * seconds / row.wait_s if row.wait_s > 0 else 0.0,
            (row.process, row.phase, row.stream) in linked,
            row.process in readers,
        )
        for row, seconds, whole in zip(rows, counted_s, is_whole, strict=True)
    ]
