"""This file lists the machines of a trace, row by row."""

from collections.abc import Sequence

from rlscope.analysis.machines import Machine
from rlscope.analysis.rows import Rows
from rlscope.analysis.table_rows import MachineRow
from rlscope.model import NS_PER_S


def machine_rows(machines: Sequence[Machine]) -> Rows[MachineRow]:
    """Make one row per machine."""
    return Rows(
        MachineRow,
        (
            MachineRow(
                machine.name, machine.boot_id, machine.processes, machine.placed, _seconds(machine.ahead_ns),
                _seconds(machine.error_ns), 1e6 * machine.drift, machine.unanswered,
            )
            for machine in machines
        ),
    )  # fmt: skip


def _seconds(time_ns: int | None) -> float | None:
    return None if time_ns is None else time_ns / NS_PER_S
