"""Writes the page of published figures of `rlscope report`, and the tables behind them, into a directory."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from rlscope.analysis.analysis import Analysis
from rlscope.analysis.document import account_sentences
from rlscope.analysis.utilization import binned_utilization
from rlscope.page.plain_page import Page
from rlscope.plots.drawing import Draw, Drawing, draw_here
from rlscope.plots.style import BETWEEN_STAGES
from rlscope.plots.tables import write_csv
from rlscope.report.process_tables import phases_shown, waits_shown
from rlscope.report.remarks import core_lines, device_lines, device_name, warnings
from rlscope.report.sentences import (
    DEVICE_RANKS_TITLE,
    RANKS_TITLE,
    correction_lines,
    counter_lines,
    evaluation_lines,
    stage_name_lines,
)
from rlscope.report.workloads import (
    BreakdownView,
    Workload,
    complete_view,
    correction_caption,
    not_drawn_text,
    published_view,
    transitions_view,
    workloads,
)
from rlscope.text.numbers import duration

#: The page of figures.
FIGURES = "figures.html"
UTILIZATION_BINS = 600
#: Processes in the view of them; more could not be read.
MOST_DRAWN = 64
#: The use of processor cores has a figure of its own.
NO_CORES = pd.DataFrame(columns=["start_s", "end_s", "utilization"])
RECORDED = "Figures over time, of processes, of devices and of counters are as recorded."


class ReportPage(Page):
    """A page whose figures are drawn when it is written, all together."""

    def __init__(self, title: str, draw: Draw = draw_here) -> None:
        super().__init__(title)
        self._draw = draw
        self._drawings: list[Drawing] = []

    def drawing(self, drawing: Drawing, caption: str) -> None:
        """Show a figure that is still to be drawn."""
        self._drawings.append(drawing)
        self.figure(drawing.stem.name, caption)

    def write(self, path: Path) -> None:
        """Draw the figures, and write the page."""
        self._draw(self._drawings)
        super().write(path)


def write_report(analyses: dict[str, Analysis], output: Path, draw: Draw = draw_here) -> list[str]:
    """Write the page and everything on it into `output`, and return what is to be said of it in a terminal."""
    page = ReportPage("RL-Scope report", draw)
    causes = _named(analyses, account_sentences)
    caption = correction_caption(analyses.values())
    page.paragraph(f"Where the time went in {', '.join(analyses)}. {caption} {RECORDED}")
    for name, analysis in analyses.items():
        for line in causes[name]:
            page.paragraph(line)
        for warning in warnings(name, analysis):
            page.warning(warning)
    shown = workloads(analyses)
    if left_out := not_drawn_text(analyses):
        page.paragraph(f"{left_out[0].upper()}{left_out[1:]}.")
    add_training(page, shown, caption, output)
    add_everything(page, shown, caption, output)
    add_transitions(page, shown, output)
    for number, (name, analysis) in enumerate(analyses.items(), start=1):
        ending = f"_{number}" if len(analyses) > 1 else ""
        add_trace(page, name, analysis, output, ending)
    page.write(output / FIGURES)
    others = (device_lines, counter_lines, correction_lines, stage_name_lines)
    said = [causes, *(_named(analyses, lines) for lines in others)]
    return [line for by_name in said for lines in by_name.values() for line in lines]


def _named(analyses: dict[str, Analysis], lines: Callable[[Analysis], list[str]]) -> dict[str, list[str]]:
    """Return the lines of each trace, which begin with its name where there are several traces."""
    several = len(analyses) > 1
    return {
        name: [f"{name}: {line}" if several else line for line in lines(analysis)]
        for name, analysis in analyses.items()
    }


def add_training(page: ReportPage, shown: list[Workload], caption: str, output: Path) -> None:
    """Add the published view, in percent and in seconds; the caption says whether times are corrected."""
    view = published_view(shown)
    page.heading("Training")
    if view.table.empty:
        page.paragraph("No process spent time in a stage or in a training loop.")
        return
    page.paragraph(training_text(view, len(shown)))
    for value, shown_value in (("percent", "Share of training time"), ("seconds", view.time)):
        settings = {"value": value, "time": view.time}
        drawing = Drawing("breakdown_figure", (view.table,), output / f"breakdown_{value}", settings)
        page.drawing(drawing, f"{shown_value} per stage, category and resource. {caption}")


def training_text(view: BreakdownView, processes: int) -> str:
    """Return how the figures of training read."""
    folded = "In these figures waiting counts as Python"
    if BETWEEN_STAGES in set(view.table["stage"]):
        folded = (
            "In these figures waiting inside a stage counts as Python. Time of the training loop in no stage is "
            "a bar of its own, with its waiting"
        )
    else:
        folded += ", and time of a `training_loop` in no stage as backpropagation"
    whose = f", of all {processes} processes together" if processes > 1 else ""
    return f"{folded}. Left out: {duration(view.left_out_s)} before and after training{view.evaluation_text}{whose}."


def add_everything(page: ReportPage, shown: list[Workload], caption: str, output: Path) -> None:
    """Add every second; the caption says whether they are corrected."""
    view = complete_view(shown)
    page.heading("Everything recorded")
    if view.table.empty:
        page.paragraph("The traces hold no time.")
        return
    settings = {"value": "seconds", "time": view.time}
    drawing = Drawing("breakdown_figure", (view.table,), output / "complete", settings)
    page.drawing(drawing, f"All seconds, with waiting, idle time and time in no operation. {caption}")


def add_transitions(page: ReportPage, shown: list[Workload], output: Path) -> None:
    """Add how often training crosses from one layer of the stack into another."""
    table, value = transitions_view(shown)
    page.heading("Transitions")
    if table.empty:
        page.paragraph("No transitions inside a stage.")
        return
    drawing = Drawing("transitions_figure", (table,), output / "transitions", {"value": value})
    page.drawing(drawing, "Entries into the backend, CUDA and the simulator.")


def add_trace(page: ReportPage, name: str, analysis: Analysis, output: Path, ending: str) -> None:
    """Add the figures of one trace, and its tables as files. Files get the `ending`."""
    page.heading(f"Trace {name}")
    for line in [*core_lines(analysis), *evaluation_lines(analysis), *correction_lines(analysis)]:
        page.paragraph(f"{line[0].upper()}{line[1:]}.")
    add_processes(page, analysis, output, ending)
    add_ranks(page, analysis, output, ending)
    add_counters(page, analysis, output, ending)
    add_device_timeline(page, analysis, output, ending)
    add_utilization(page, analysis, output, ending)
    for stem, table in tables_of(analysis).items():
        if len(table):
            write_csv(table, output / f"{stem}{ending}.csv")
            page.link(f"{stem}{ending}.csv", f"{stem}{ending}.csv")


def tables_of(analysis: Analysis) -> dict[str, pd.DataFrame]:
    """Return the tables that have files, by their stems: whole, where the page of the trace may leave out rows."""
    longest = {"gpu_operations": "busy_s", "device_work": "seconds", "device_idle": "seconds"}
    same = ("dependencies", "stragglers", "collectives", "collective_kernels", "sample_tails")
    return {
        "phases": pd.DataFrame(phases_shown(analysis)),
        "waits": pd.DataFrame(waits_shown(analysis)),
        **{name: getattr(analysis, name).table for name in same},
        **{
            name: getattr(analysis, name).table.sort_values(time, ascending=False, kind="stable")
            for name, time in longest.items()
        },
    }


def add_processes(page: ReportPage, analysis: Analysis, output: Path, ending: str) -> None:
    """Add processes side by side, where there are phases of them. Files get the `ending`."""
    phases = pd.DataFrame(phases_shown(analysis))
    if len(phases) and phases["process"].nunique() <= MOST_DRAWN:
        tables = (analysis.phases.table, analysis.dependencies.table, NO_CORES, analysis.device_timeline.table)
        caption = (
            "Processes side by side: how long each phase took, and who waited for whom. "
            "A phase in several pieces is as long as all of them together, from where the first begins."
        )
        page.drawing(Drawing("process_view", tables, output / f"process_view{ending}"), caption)


def add_ranks(page: ReportPage, analysis: Analysis, output: Path, ending: str) -> None:
    """Add what ranks did with their time; nothing without ranks. Files get the `ending`."""
    if analysis.ranks:
        drawing = Drawing("ranks_figure", (analysis.ranks.table,), output / f"fig_ranks{ending}")
        page.drawing(drawing, f"{RANKS_TITLE}: computing, and waiting for others.")
    if analysis.device_ranks:
        drawing = Drawing("ranks_figure", (analysis.device_ranks.table,), output / f"fig_device_ranks{ending}")
        page.drawing(drawing, f"{DEVICE_RANKS_TITLE}: computing, and communication that is exposed.")


def add_counters(page: ReportPage, analysis: Analysis, output: Path, ending: str) -> None:
    """Add how well each operation used the devices; nothing in a run without counters. Files get the `ending`."""
    table = analysis.counters.table
    if (table["stage"] != "").any():
        from rlscope.plots.counters import counter_bars  # with what draws, for which a page need not wait

        _, rest = counter_bars(table)
        caption = "Hardware counters while work of a stage (dark) or an operation (light) ran; of amounts, the total."
        left_out = f" {rest} are left out, first the operations with least busy time; the page of the trace has them."
        drawing = Drawing("counters_figure", (table,), output / f"counters{ending}")
        page.drawing(drawing, f"{caption}{left_out}" if rest else caption)


def add_device_timeline(page: ReportPage, analysis: Analysis, output: Path, ending: str) -> None:
    """Add how busy each device was over time; nothing where none was used. Files get the `ending`."""
    table = analysis.device_timeline.table
    if table.empty:
        return
    labels = {row.device: f"GPU {row.device}" for row in analysis.gpu}
    page.drawing(
        Drawing("device_timeline_figure", (table,), output / f"device_timeline{ending}", {"labels": labels}),
        "How busy each device was over time: the share in which it worked for any process, and what was reported.",
    )


def add_utilization(page: ReportPage, analysis: Analysis, output: Path, ending: str) -> None:
    """Add what the machine reported over time; nothing where it was not sampled for long enough. Files get the
    `ending`.
    """
    samples = analysis.utilization.samples
    if samples.attrs["damaged_lines"]:
        page.warning(f"{samples.attrs['damaged_lines']} lines of utilization.csv are damaged and were left out.")
    table = binned_utilization(samples, UTILIZATION_BINS)
    if not (table.groupby("source").size() > 1).any():
        return
    labels = {row.uuid: device_name(row) for row in analysis.gpu if row.uuid is not None}
    drawing = Drawing("utilization_figure", (table,), output / f"utilization{ending}", {"labels": labels})
    page.drawing(drawing, "What the machine reported of devices and processes.")
