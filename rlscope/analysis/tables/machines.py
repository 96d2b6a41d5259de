"""The machines of a trace as a table."""

from collections.abc import Sequence

import pandas as pd

from rlscope.analysis.machines import Machine
from rlscope.trace.clock_offset import NS_PER_S

MACHINE_COLUMNS = ("machine", "boot_id", "processes", "placed", "ahead_s", "error_s", "drift_ppm", "unanswered")


def machines_table(machines: Sequence[Machine]) -> pd.DataFrame:
    """One row per machine, with the columns of `MACHINE_COLUMNS`; what is not known is missing."""
    rows = [
        (
            machine.name, machine.boot_id, machine.processes, machine.placed, _seconds(machine.ahead_ns),
            _seconds(machine.error_ns), 1e6 * machine.drift, machine.unanswered,
        )
        for machine in machines
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=list(MACHINE_COLUMNS)).astype({"ahead_s": float, "error_s": float})


def _seconds(time_ns: int | None) -> float | None:
    return None if time_ns is None else time_ns / NS_PER_S
