"""With which calibration a verb corrects times, and the lines that say what came of it."""

from pathlib import Path

import click

from rlscope.analysis.breakdown import Analysis
from rlscope.analysis.correction import AppliedCorrection, Correction
from rlscope.calibration.calibration import of_trace
from rlscope.trace.reader import Trace

AUTO = "auto"
NONE = "none"
#: A smaller share of the overhead that stays is not worth a line.
LEAST_SAID = 0.01

correct_option = click.option(
    "--correct",
    metavar="auto|none|FILE",
    default=AUTO,
    show_default=True,
    help="Subtract what recording added: by the calibration that the trace was recorded with or your own, not at all, "
    "or by that of a FILE which `rlscope calibrate -o FILE` wrote.",
)


def chosen(trace: Trace, correct: str) -> Correction | str:
    """What the option asks for, or why times are not corrected.

    Raises:
        UsageError: the calibration is damaged or of another environment.
    """
    if correct == NONE:
        return "--correct none was given"
    clock = trace.processes[0].clock_kind.name.lower()
    return of_trace(trace.manifest, clock, None if correct == AUTO else Path(correct))


def added_text(found: AppliedCorrection) -> str:
    """What recording added, with its interval: "1.4 % (1.0-1.9)"."""
    added, low, high = (f"{percent:.2g}" if percent < 10 else f"{percent:.0f}" for percent in (
        found.added_percent, found.added_low_percent, found.added_high_percent
    ))  # fmt: skip
    return f"{added} % ({low}-{high})"


def correction_lines(analysis: Analysis) -> list[str]:
    """What recording added, and what of it is not removed; or why times are as they were recorded."""
    found = analysis.correction
    if found is None:
        return [f"times include what recording added: {analysis.uncorrected}"]
    to = f" to {found.process}" if len(analysis.processes) > 1 else ""
    lines = [f"recording added {added_text(found)}{to}, removed; calibration: {found.source}"]
    uncorrectable_s = analysis.processes["uncorrectable_s"].sum()
    overhead_s = (analysis.processes["wall_s"] - analysis.processes["corrected_wall_s"]).sum() + uncorrectable_s
    if uncorrectable_s > LEAST_SAID * overhead_s:
        lines.append(f"{uncorrectable_s:.3g} s of it passed beside other threads' work or in waits, and stay")
    return [*lines, *found.notes]
