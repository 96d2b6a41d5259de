"""This file says of a trace why its numbers may mislead, and how busy each device was."""

from rlscope.analysis.analysis import Analysis
from rlscope.analysis.devices.rows import GpuRow
from rlscope.report.process_tables import LEAST_SHOWN
from rlscope.report.sentences import counter_lines, misnested_lines, stage_name_lines
from rlscope.text.numbers import percent

#: Of a run that was recorded before time without a core was told from other time.
UNKNOWN_SHARE = "unknown share (recorded by an older version)"


def warnings(name: str, analysis: Analysis) -> list[str]:
    """Return what a reader must know before believing the numbers of a trace."""
    found = [f"{name}: incomplete. {sentence}" for sentence in analysis.why]
    if analysis.extrapolated_s is None:
        found.append(
            f"{name}: no progress towards a known number of timesteps was reported, so the whole training cannot be "
            "extrapolated."
        )
    facts = (
        *counter_lines(analysis),
        *stage_name_lines(analysis),
        *misnested_lines(analysis),
        *analysis.without_stacks,
    )
    return found + [f"{name}: {line}." for line in facts]


def core_lines(analysis: Analysis) -> list[str]:
    """Return for which share of their time the processes waited for a core; nothing where it is too little to show."""
    share = analysis.cores.no_core_share
    if share is None:
        return [f"processes waited for a core for an {UNKNOWN_SHARE} of their time"]
    return [f"processes waited for a core for {percent(share)} of their time"] if share >= LEAST_SHOWN else []


def device_lines(analysis: Analysis) -> list[str]:
    """Return one line per device: how much of the time it was reported to be in use, and how much of it it worked."""
    run_s = max(row.end_s for row in analysis.processes)
    lines = []
    for row in analysis.gpu:
        busy, reported = f"busy {percent(row.busy_s / max(run_s, 1e-9))}", row.reported_utilization
        if row.communication_s:
            busy += f" (for {percent(row.exposed_s / max(run_s, 1e-9))} with nothing but communication)"
        lines.append(f"{device_name(row)}: {busy if reported is None else f'reported {percent(reported)}, {busy}'}")
    return lines


def device_name(row: GpuRow) -> str:
    """Return what a device is called."""
    return f"GPU {row.device}" if row.name is None else f"GPU {row.device} ({row.name})"
