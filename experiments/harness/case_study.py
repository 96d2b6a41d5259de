"""This file holds a case study: its matrix of runs, the traces that they leave, its figures and its page."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from experiments import CHECKOUT
from experiments.harness.execute import Execution, Run
from experiments.harness.interpreters import how_to_install, python_of
from experiments.harness.matrix import Cell, Entry, Group, Matrix, cell_of, load_matrix
from experiments.harness.progress import Recorded, StudyRun, Workload, record_in_turn
from rlscope.errors import UsageError
from rlscope.plots.figure_files import write_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORKLOADS = CHECKOUT / "experiments" / "workloads"


@dataclass(frozen=True)
class CaseStudy:
    """One folder of `experiments/` at one budget.

    Attributes:
        folder: holds runs.toml and claims.toml.
        budget: one of BUDGETS.
        output: directory for figures, claims and runs.
        repetitions: of each workload, where not as many as runs.toml says for the budget.
        recorder: what executes runs, or knows what became of them.
        earlier: the tables of an earlier part of the study, whose runs are not executed again.
    """

    folder: Path
    budget: str
    output: Path
    repetitions: int | None = None
    recorder: Callable[[Sequence[StudyRun]], Recorded] = record_in_turn
    earlier: Path | None = None

    @property
    def is_provisional(self) -> bool:
        """Return whether the budget is too small to rely on what the study finds."""
        return self.budget != "paper"

    @property
    def matrix(self) -> Matrix:
        """Return the contents of runs.toml."""
        return load_matrix(self.folder / "runs.toml")

    @property
    def repetitions_of_each(self) -> int:
        """Return how often each workload is run."""
        return self.repetitions or self.matrix.budget(self.budget).repetitions

    @property
    def groups(self) -> list[Group]:
        """Return the groups of runs.toml that can be run: not every package exists for every Python.

        One that is there `instead_of` a package is left aside where that package is.
        """
        own = [group for group in self.matrix.groups if python_of(group.python or None, group.package)]
        return [group for group in own if not group.instead_of or not python_of(None, group.instead_of)]

    @property
    def names(self) -> dict[str, str]:
        """Return the titles of groups by their names: what a sentence calls those whose names are not for people."""
        return {group.name: group.title for group in self.matrix.groups if group.title}

    @property
    def workloads(self) -> list[Entry]:
        """Return the workloads of runs.toml for the hardware of this machine whose framework is installed."""
        return [
            entry
            for entry in self.matrix.entries
            if is_for(entry, hardware()) and (not entry.package or python_of(entry.python or None, entry.package))
        ]

    @property
    def left_out(self) -> list[str]:
        """Return what is not recorded here, and why; sentences for the page."""
        matrix = self.matrix
        named: list[tuple[str, Group | Entry]] = [
            (group.id or group.name, group) for group in matrix.groups if not group.instead_of
        ]
        named += [(entry.one_line, entry) for entry in matrix.entries if entry.package and is_for(entry, hardware())]
        sentences = [
            f"{name} is left out: {how_to_install(needing.python or None, needing.package)}."
            for name, needing in named
            if not python_of(needing.python or None, needing.package)
        ]
        return list(dict.fromkeys(sentences))

    def runs(self) -> list[StudyRun]:
        """Return every repetition of every workload in each of its groups, without those of the earlier part.

        Repetitions are the outer loop, so that a machine that gets slower meanwhile slows all workloads alike.
        """
        matrix = self.matrix
        budget = matrix.budget(self.budget)
        cells = [
            cell_of(matrix, group, entry, self.budget)
            for group in self.groups
            for entry in self.workloads
            if not entry.groups or group.name in entry.groups
        ]
        measured = runs_in(self.earlier) if self.earlier else set()
        runs = [
            (Workload(cell.entry.name, cell.entry.label, cell.group.name, cell.entry.kind), repetition, run)
            for repetition in range(self.repetitions_of_each)
            for cell in cells
            if (cell.entry.name, repetition) not in measured
            for run in [run_of(matrix, cell, repetition)]
        ]
        minutes = budget.minutes / max(1, budget.repetitions * len(cells))
        return [
            StudyRun(
                self.folder.name, workload, repetition, run, self.output / "runs" / run.name, minutes, self._cores(run)
            )
            for workload, repetition, run in runs
        ]

    def _cores(self, run: Run) -> int:
        """Return how many cores a run needs: its own, and one for what records beside it; one at the smoke budget."""
        return 1 if self.budget == "smoke" else run.threads + 1

    def record(self, runs: Sequence[StudyRun]) -> tuple[list[tuple[StudyRun, Execution]], list[str]]:
        """Execute the runs, or ask who has executed them.

        Returns:
            The runs that ended well; and what there is to say of each that did not, or not yet.
        """
        recorded = self.recorder(runs)
        return recorded.executed_of(runs), [*recorded.provisional_text(runs), *recorded.failures_of(runs)]

    def save_figure(self, name: str, figure: "Figure", table: pd.DataFrame) -> None:
        """Write a figure of the study in every format, and the numbers that it shows."""
        self.output.mkdir(parents=True, exist_ok=True)
        write_figure(figure, table, self.output / name)


def runs_in(directory: Path) -> set[tuple[str, int]]:
    """Return the workload and the repetition of each run that tables are of: their first columns.

    Raises:
        UsageError: There are no tables.
    """
    tables = [pd.read_csv(path) for path in sorted(directory.glob("*.csv"))]
    if not tables:
        raise UsageError(f"expected what an earlier part has measured in {directory}, found no table (*.csv) there")
    return {(str(row[0]), int(row[1])) for table in tables for row in table.iloc[:, :2].itertuples(index=False)}


def run_of(matrix: Matrix, cell: Cell, repetition: int) -> Run:
    """Return one repetition of a workload.

    The script ends with the last iteration that is recorded, or with so many later ones as the window asks for: their
    times are those of a program that is not recorded. One whose window has no iterations records itself, and ends when
    it has what it wants; so does one that does not train, in a matrix without timesteps. That takes a seed where the
    matrix is `seeded`. A matrix may name the `device` of all its runs, which have no option for it then.
    """
    window = cell.window
    python = python_of(cell.python or None, cell.package)
    assert python, f"{cell.entry.name} is not among the workloads that can be run"
    training: tuple[str, ...] = ()
    if cell.total_timesteps:
        training = ("--env", cell.id) if cell.id else ()
        training += ("--seed", str(repetition), "--total-timesteps", str(cell.total_timesteps))
        if window.max_iterations and not window.whole:
            iterations = window.delay_iterations + window.max_iterations + window.later_iterations
            training += ("--stop-after", str(iterations * cell.timesteps_per_iteration))
    elif matrix.seeded:
        training = ("--seed", str(repetition))
    computes_on = matrix.device or device()
    return Run(
        name=f"{cell.group.name}/{cell.entry.name}/repetition_{repetition}",
        python=python,
        script=WORKLOADS / cell.script,
        arguments=(*cell.arguments, *training, *(() if matrix.device else ("--device", computes_on))),
        delay_iterations=window.delay_iterations,
        max_iterations=None if window.whole else window.max_iterations,
        threads=min(cell.threads, len(os.sched_getaffinity(0))),
        device=computes_on,
        time_limit_s=matrix.time_limit_s,
        counters=cell.entry.counters,
    )


def is_for(entry: Entry, hardware: str) -> bool:
    """Return whether a workload is for machines with this hardware."""
    return entry.hardware in ("", hardware)


@cache
def device() -> str:
    """Return where runs of this machine compute: on its GPU if PyTorch can use one."""
    import torch  # slow, and not needed to look at a matrix

    return "cuda" if torch.cuda.is_available() else "cpu"


def hardware() -> str:
    """Return what the runs use, in the words of claims.toml."""
    return "gpu" if device() == "cuda" else "cpu"
