"""The waits of processes that count for advice: for which process each was, as far as that is known."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from rlscope.analysis.causes import ProcessTime, waiting_s
from rlscope.analysis.dependencies import sends
from rlscope.model import NO_PHASE

if TYPE_CHECKING:
    from rlscope.analysis.breakdown import Analysis

#: Waits in which no other process has a part: for time, and for other threads.
WITHOUT_PROCESS = ("time.", "_thread.", "_queue.")
_STREAM = ["process", "phase", "stream"]


class CountedWaits:
    """The waits in operations and phases; all waits of processes without these.

    Attributes:
        links: seconds that a process waited for each other one, where there are any.
        open_s: seconds that a process waited with no other end, but perhaps for another process.
    """

    def __init__(self, analysis: "Analysis", times: Mapping[str, ProcessTime]) -> None:
        """Of the processes in `times`."""
        self._table = _counted(analysis.waits[analysis.waits["process"].isin(set(times))], times)
        edges = analysis.dependencies
        self._edges = edges[edges["process"].isin(set(times)) & edges["on"].isin(set(times))]
        self.links = self._find_links(times)
        without_end = self._table[self._table["is_open"]]
        self.open_s = without_end.groupby("process")["counted_s"].sum().to_dict()

    def not_followed(self, process: str, are_open_followed: bool) -> dict[str, float]:
        """Seconds that a process waited for none of these processes, by function, the longest first."""
        waits = self._table[self._table["process"] == process]
        streams = self._edges.loc[self._edges["process"] == process, "stream"]
        is_followed = ~waits["is_send"] & waits["stream"].isin(streams)
        if are_open_followed:
            is_followed |= waits["is_open"]
        rest = waits[~is_followed].groupby("function")["counted_s"].sum().sort_values(ascending=False)
        return {str(function): float(seconds) for function, seconds in rest.items()}

    def _find_links(self, times: Mapping[str, ProcessTime]) -> dict[str, dict[str, float]]:
        received = self._table[~self._table["is_send"]].groupby(_STREAM)[["wait_s", "counted_s"]].sum()
        shares = (received["counted_s"] / received["wait_s"]).fillna(0.0).to_dict()
        links: dict[str, dict[str, float]] = {process: {} for process in times}
        columns = (self._edges[name] for name in (*_STREAM, "on", "wait_s"))
        for process, phase, stream, on, wait_s in zip(*columns, strict=True):
            link_s = wait_s * shares[process, phase, stream]
            if link_s > 0:
                links[process][on] = links[process].get(on, 0.0) + link_s
        return links


def _counted(waits: pd.DataFrame, times: Mapping[str, ProcessTime]) -> pd.DataFrame:
    """With `counted_s`, `is_send` and `is_open`: it has no other end, but another process may have a part in it."""
    has_operations = waits["process"].map({process: time.has_operations for process, time in times.items()})
    is_whole = (waits["phase"] != NO_PHASE) | ~has_operations.astype(bool)
    counted_s = waits["in_operations_s"].mask(is_whole, waits["wait_s"])
    # While a device works or something is compiled, the breakdown's time has another cause than waiting.
    sums = counted_s.groupby(waits["process"]).sum()
    shares = {
        process: min(1.0, waiting_s(times[process].mix) / whole_s) if whole_s > 0 else 0.0
        for process, whole_s in sums.items()
    }
    return waits.assign(
        counted_s=counted_s * waits["process"].map(shares).astype(float),
        is_send=waits["function"].map(sends).astype(bool),
        is_open=(waits["stream"] == "") & ~waits["function"].str.startswith(WITHOUT_PROCESS).astype(bool),
    )
