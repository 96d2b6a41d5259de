"""This file makes the analysis of a trace, which is what `rlscope analyze` shows of it."""

from __future__ import annotations

import signal
from copy import copy
from typing import TYPE_CHECKING, Any

from rlscope.analysis.correction.corrected import Correction
from rlscope.analysis.rows import Rows
from rlscope.analysis.run import Run
from rlscope.analysis.run_tables import RunTables
from rlscope.analysis.sweep import NO_CALIBRATION, TraceSweep, sweep_trace
from rlscope.analysis.table import Table
from rlscope.model import GpuAttribution
from rlscope.rules.finding import FindingRow
from rlscope.rules.rule import finding_rows, finding_text
from rlscope.text.numbers import digits, duration
from rlscope.trace.reader import Trace

if TYPE_CHECKING:
    from typing_extensions import Self

#: Evaluation is said where it makes a training longer by more than that.
SAID = 1.01


class Analysis(RunTables):
    """This is what `rlscope analyze` shows: the tables of a run, and what rules find in them.

    It has no fields of its own, and to make it a dataclass would take as long as the import of a file.
    """

    findings: Table[Analysis, FindingRow] = Table(
        FindingRow,
        lambda run, found: finding_rows(run, found) if found.hang is None else Rows(FindingRow),
        per="change that a rule found, what is most sure first",
        values="the rule's code and name, what to do and where, how much of the training it is about, and where a "
        "model covers it what [a forecast](forecast.md) says of it: [rules](rules/index.md)",
    )

    def replaced(self, **values: Any) -> Self:
        """Return the same with other values of some tables and facts."""
        found = copy(self)
        vars(found).update(values)
        return found

    @property
    def summary(self) -> str:
        """Say what was recorded, such as "1 process, 9.06 s, 600 iterations, 600 timesteps"."""
        walls_s = {row.process: row.wall_s for row in self.processes}
        wall_s = max(walls_s.values()) if self.path is None else walls_s[self.path.process]
        parts = [f"{len(self.processes)} process{'es' if len(self.processes) > 1 else ''}", duration(wall_s)]
        parts += filter(None, (_ended(row.exit_status) for row in self.processes if row.role == "main"))
        if self.iterations is not None:
            parts += [f"{self.iterations:,} iterations", f"{self.timesteps:,} timesteps"]
        rates = self.token_rates
        if rates.tokens_per_s is not None:
            parts.append(f"{rates.tokens:,} tokens, {digits(rates.tokens_per_s)} a second")
            if rates.trained_tokens_per_s is not None and rates.trained_tokens_per_s != rates.tokens_per_s:
                parts[-1] += f" of which {digits(rates.trained_tokens_per_s)} were kept"
        if self.extrapolated_s is not None:
            whole_s = self.extrapolated_with_evaluation_s or self.extrapolated_s
            parts.append(f"about {duration(whole_s)} for all {self.total_timesteps:,} timesteps")
            if whole_s > SAID * self.extrapolated_s:
                parts[-1] += f" ({duration(self.extrapolated_s)} without evaluation)"
        return ", ".join(parts)

    @property
    def no_core_share(self) -> float | None:
        """Return the share of the processes' time in which they waited for a core, from 0 to 1; None: not known."""
        return self.cores.no_core_share

    def _repr_html_(self) -> str:
        """Show the analysis in a notebook: where its time went."""
        from rlscope.analysis.outline.html import html_of  # which only notebooks need

        return html_of(self, self.summary, [finding_text(row) for row in self.findings])


def analyze(
    trace: Trace,
    recover: bool = False,
    by_thread: bool = False,
    gpu_attribution: GpuAttribution = GpuAttribution.LAUNCH,
    correction: Correction | str = NO_CALIBRATION,
    by_function: bool = False,
) -> Analysis:
    """Sweep all processes of a trace, in parallel, and return its analysis.

    Args:
        trace: what `open_trace` returned.
        recover: step over damage, and say so in `why`, rather than raise.
        by_thread: fill `threads` too.
        gpu_attribution: to whom time belongs in which a device works and the process waits.
        correction: what recording costs, or why times are not to be corrected.
        by_function: fill `calls` and `iteration_times` too.
    """
    swept = sweep_trace(trace, recover, by_thread, gpu_attribution, correction, bins=0 if by_function else None)
    return make_analysis(swept, recover, by_function)


def make_analysis(swept: TraceSweep, recover: bool = False, by_function: bool = False) -> Analysis:
    """Return the analysis of a swept trace; with `by_function`, for which it is swept with bins, as `analyze` does."""
    return Analysis(Run(swept, recover, by_function))


def _ended(status: int | None) -> str:
    """Say how a command failed; empty if it did not, or nobody knows."""
    if status is not None and status < 0 and -status in set(signal.Signals):
        return f"ended by {signal.Signals(-status).name}"
    return f"failed with status {status}" if status else ""
