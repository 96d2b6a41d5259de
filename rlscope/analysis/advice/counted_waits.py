"""The waits of processes that count for advice: for which process each was, as far as that is known."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from rlscope.analysis.advice.causes import ProcessTime, waiting_s
from rlscope.analysis.analysis import Analysis
from rlscope.analysis.tables.dependencies import sends
from rlscope.model import EVALUATION, NO_PHASE

#: Waits for another thread, as the sweep tells them too (src/analysis/sweep_tables.cpp).
FOR_THREADS = ("_thread.", "_queue.")
#: Waits in which no other process has a part: for time, and for other threads.
WITHOUT_PROCESS = ("time.", *FOR_THREADS)
_STREAM = ["process", "phase", "stream"]


@dataclass(frozen=True)
class Wait:
    """What a process waited in one function, as far as it counts.

    Attributes:
        function: in which it waited.
        count: of entries.
        seconds: of waiting.
        between_s: of these, in no operation.
        is_for_process: another process may have a part in it, but which one is not known.
    """

    function: str
    count: int
    seconds: float
    between_s: float
    is_for_process: bool


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
        for_threads_s: seconds that a process waited for another thread of its own.
    """

    def __init__(self, analysis: Analysis, times: Mapping[str, ProcessTime]) -> None:
        """Counts the waits of the processes in `times`."""
        edges, waits = (_of(table, times) for table in (analysis.dependencies, analysis.waits))
        self._edges = edges[edges["on"].isin(set(times))]
        linked = set(zip(*(self._edges[name] for name in _STREAM), strict=True))
        table = _counted(waits, times)
        keys = zip(*(table[name] for name in _STREAM), strict=True)
        self._table = table.assign(is_linked=[key in linked for key in keys])
        self.links = self._find_links(times)
        is_for_process = self._table["is_open"] | ((self._table["stream"] != "") & ~self._table["is_send"])
        self.open_s = self._sums(self._table["is_open"], "counted_s")
        self.between_s = self._sums(is_for_process | self._table["is_linked"], "between_s")
        self.unlinked_s = self._sums(is_for_process & ~self._table["is_open"] & ~self._table["is_linked"], "between_s")
        self.for_threads_s = self._sums(_begins(self._table["function"], FOR_THREADS), "counted_s")

    def not_followed(self, process: str, are_open_followed: bool) -> tuple[Wait, ...]:
        """The waits of a process that are followed to no other process, by function, the longest first.

        Sleeping for 600 times 50 ms gives `Wait("time.sleep", 600, 30.0, ...)`. Waits without a recorded other end are
        among them unless `are_open_followed`.
        """
        waits = self._table[(self._table["process"] == process) & ~self._table["is_linked"]]
        if are_open_followed:
            waits = waits[~waits["is_open"]]
        by_function = waits.groupby("function")[["counted", "counted_s", "between_s"]].sum()
        rows = by_function.sort_values("counted_s", ascending=False).itertuples()
        return tuple(
            Wait(str(name), round(count), seconds, between_s, not str(name).startswith(WITHOUT_PROCESS))
            for name, count, seconds, between_s in rows
        )

    def _sums(self, rows: "pd.Series[bool]", column: str) -> dict[str, float]:
        """The sum of a column over these rows, by process."""
        sums: dict[str, float] = self._table[rows].groupby("process")[column].sum().to_dict()
        return sums

    def _find_links(self, times: Mapping[str, ProcessTime]) -> dict[str, dict[str, float]]:
        """Seconds by process and process that it waited for.

        If 8 s of 10 s on a pipe count, each process at its other end gets 0.8 of what the table of dependencies says.
        """
        waited = self._table.groupby(_STREAM)[["wait_s", "counted_s"]].sum()
        shares = (waited["counted_s"] / waited["wait_s"]).fillna(0.0).to_dict()
        links: dict[str, dict[str, float]] = {process: {} for process in times}
        columns = (self._edges[name] for name in (*_STREAM, "on", "wait_s"))
        for process, phase, stream, on, wait_s in zip(*columns, strict=True):
            link_s = wait_s * shares[process, phase, stream]
            if link_s > 0:
                links[process][on] = links[process].get(on, 0.0) + link_s
        return links


def _of(table: pd.DataFrame, times: Mapping[str, ProcessTime]) -> pd.DataFrame:
    """The rows of the processes in `times`, without their evaluation where advice leaves that out."""
    evaluating = {process for process, time in times.items() if EVALUATION in time.left_out}
    is_left_out = (table["phase"] == EVALUATION) & table["process"].isin(evaluating)
    return table[table["process"].isin(set(times)) & ~is_left_out]


def _counted(waits: pd.DataFrame, times: Mapping[str, ProcessTime]) -> pd.DataFrame:
    """The table of waits with five more columns.

    Of a row with 100 entries, 10 s of waiting, 8 s of it in the loop and 5 s of it in operations: `counted_s` is 8,
    `between_s` (counted, but in no operation) is 3, and `counted` (entries that count, in proportion) is 80. `is_send`
    says that the function sends, `is_open` that the wait has no recorded other end but may be for another process.
    """
    has_loop = waits["process"].map({process: time.has_loop for process, time in times.items()})
    is_whole = (waits["phase"] != NO_PHASE) | ~has_loop.astype(bool)
    counted_s = waits["in_loop_s"].mask(is_whole, waits["wait_s"])
    between_s = (counted_s - waits["in_operations_s"]).mask(is_whole, 0.0)
    # While a device works or something is compiled, the breakdown's time has another cause than waiting.
    sums = counted_s.groupby(waits["process"]).sum()
    shares = {
        process: min(1.0, waiting_s(times[process].mix) / whole_s) if whole_s > 0 else 0.0
        for process, whole_s in sums.items()
    }
    share = waits["process"].map(shares).astype(float)
    return waits.assign(
        counted_s=counted_s * share,
        between_s=between_s * share,
        counted=(waits["count"] * counted_s / waits["wait_s"]).fillna(0.0),
        is_send=waits["function"].map(sends).astype(bool),
        is_open=(waits["stream"] == "") & ~_begins(waits["function"], WITHOUT_PROCESS),
    )


def _begins(functions: "pd.Series[str]", beginnings: tuple[str, ...]) -> "pd.Series[bool]":
    """Whether each function's name begins with one of these."""
    return functions.str.startswith(beginnings).astype(bool)
