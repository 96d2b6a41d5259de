"""A case study: its matrix of runs, the traces that they leave, its figures and its page."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas
import tomllib
from matplotlib.figure import Figure

from experiments import CHECKOUT
from experiments.harness.execute import Execution, Run
from experiments.harness.interpreters import how_to_install, python_of
from experiments.harness.progress import Recorded, StudyRun, Workload, record_in_turn
from rlscope.errors import UsageError
from rlscope.plots.page import FIGURE_FORMATS
from rlscope.plots.style import save_figure
from rlscope.plots.tables import write_csv

WORKLOADS = CHECKOUT / "experiments" / "workloads"
# smoke: does it run at all; quick: verdicts are provisional; paper: the published schedule.
BUDGETS = ("smoke", "quick", "paper")


@dataclass(frozen=True)
class CaseStudy:
    """One folder of `experiments/` at one budget.

    Attributes:
        folder: holds runs.toml and claims.toml.
        budget: one of BUDGETS.
        output: directory for figures, claims and runs.
        repetitions: of each workload, where not as many as runs.toml says for the budget.
        recorder: what executes runs, or knows what became of them.
    """

    folder: Path
    budget: str
    output: Path
    repetitions: int | None = None
    recorder: Callable[[Sequence[StudyRun]], Recorded] = record_in_turn

    @property
    def is_provisional(self) -> bool:
        """Whether the budget is too small to rely on what the study finds."""
        return self.budget != "paper"

    @property
    def matrix(self) -> dict[str, Any]:
        """The contents of runs.toml."""
        return read_toml(self.folder / "runs.toml")

    @property
    def repetitions_of_each(self) -> int:
        """Of each workload."""
        return self.repetitions or int(self.matrix["budget"][self.budget]["repetitions"])

    @property
    def environments(self) -> list[dict[str, Any]]:
        """The entries of runs.toml that can be run: not every package exists for every Python.

        One that is there `instead_of` a package is left aside where that package is.
        """
        own = [entry for entry in self.matrix["environment"] if python_of(entry.get("python"), entry["package"])]
        return [entry for entry in own if "instead_of" not in entry or not python_of(None, entry["instead_of"])]

    @property
    def workloads(self) -> list[dict[str, Any]]:
        """The entries of runs.toml for the hardware of this machine whose framework is installed."""
        return [
            entry
            for entry in self.matrix["workload"]
            if entry.get("hardware") in (None, hardware())
            and ("package" not in entry or python_of(entry.get("python"), entry["package"]))
        ]

    @property
    def left_out(self) -> list[str]:
        """What is not recorded here, and why; sentences for the page."""
        environments = [entry for entry in self.matrix["environment"] if "instead_of" not in entry]
        named = [(entry.get("id", entry["name"]), entry) for entry in environments]
        named += [
            (one_line(entry), entry)
            for entry in self.matrix["workload"]
            if "package" in entry and entry.get("hardware") in (None, hardware())
        ]
        sentences = [
            f"{name} is left out: {how_to_install(entry.get('python'), entry['package'])}."
            for name, entry in named
            if not python_of(entry.get("python"), entry["package"])
        ]
        return list(dict.fromkeys(sentences))

    def runs(self) -> list[StudyRun]:
        """Every repetition of every workload in every environment.

        Repetitions are the outer loop, so that a machine that gets slower meanwhile slows all workloads alike.
        """
        matrix = self.matrix
        budget = matrix["budget"][self.budget]
        cells = [
            (environment, entry)
            for environment in self.environments
            for entry in self.workloads
            if environment["name"] in entry.get("environments", [environment["name"]])
        ]
        runs = [
            (Workload(entry["name"], entry["label"], environment["name"], entry["group"]), repetition, run)
            for repetition in range(self.repetitions_of_each)
            for environment, entry in cells
            for run in [run_of(matrix, environment, entry, self.budget, repetition)]
        ]
        minutes = budget["minutes"] / max(1, budget["repetitions"] * len(cells))
        return [
            StudyRun(
                self.folder.name, workload, repetition, run, self.output / "runs" / run.name, minutes, self._cores(run)
            )
            for workload, repetition, run in runs
        ]

    def _cores(self, run: Run) -> int:
        """For training, and one for what records beside it; whether a run works at all shows on one."""
        return 1 if self.budget == "smoke" else run.threads + 1

    def record(self, runs: Sequence[StudyRun]) -> tuple[list[tuple[StudyRun, Execution]], list[str]]:
        """Execute the runs, or ask who has executed them.

        Returns:
            The runs that ended well, and what there is to say of each that did not.
        """
        recorded = self.recorder(runs)
        return recorded.executed_of(runs), recorded.failures_of(runs)

    def save_figure(self, name: str, figure: Figure, table: pandas.DataFrame) -> None:
        """Write a figure in every format, and the numbers that it shows."""
        self.output.mkdir(parents=True, exist_ok=True)
        for kind in FIGURE_FORMATS:
            save_figure(figure, self.output / f"{name}.{kind}")
        write_csv(table, self.output / f"{name}.csv")


def run_of(
    matrix: dict[str, Any], environment: dict[str, Any], entry: dict[str, Any], budget: str, repetition: int
) -> Run:
    """One repetition. What an entry does not say of its iterations, its environment does; of its length, the matrix.

    The script ends with the last iteration that is recorded, or with so many later ones as the window asks for: their
    times are those of a program that is not recorded. One whose window has no iterations records itself, and ends when
    it has what it wants; so does one that does not train, in a matrix without timesteps. That takes a seed where the
    matrix is `seeded`. One whose window is `whole` is recorded from its start to its end. A matrix may name the
    `device` of all its runs, which have no option for it then; an entry may name the device's `counters` to be sampled.
    """
    window = entry.get(budget) or environment[budget]
    recorded = None if window.get("whole") else window.get("max_iterations", 0)
    last: tuple[str, ...] = ()
    trains = "total_timesteps" in matrix
    if recorded and trains:
        timesteps = window.get("timesteps_per_iteration") or entry["timesteps_per_iteration"]
        iterations = window["delay_iterations"] + recorded + window.get("later_iterations", 0)
        last = ("--stop-after", str(iterations * timesteps))
    python = python_of(entry.get("python"), entry.get("package", environment["package"]))
    assert python, f"{entry['name']} is not among the workloads that can be run"
    training: tuple[str, ...] = ()
    if trains:
        total = str(entry.get("total_timesteps", matrix["total_timesteps"]))
        named = entry.get("id") or environment["id"]
        training = ("--env", named, "--seed", str(repetition), "--total-timesteps", total, *last)
    elif matrix.get("seeded"):
        training = ("--seed", str(repetition))
    computes_on = matrix["device"] if "device" in matrix else device()
    arguments = [
        *environment.get("arguments", []),
        *entry["arguments"],
        *window.get("arguments", []),
        *training,
        *(("--device", computes_on) if "device" not in matrix else ()),
    ]
    return Run(
        name=f"{environment['name']}/{entry['name']}/repetition_{repetition}",
        python=python,
        script=WORKLOADS / (entry.get("script") or matrix["script"]),
        arguments=tuple(arguments),
        delay_iterations=window.get("delay_iterations", 0),
        max_iterations=recorded,
        threads=min(entry.get("threads", matrix["threads"]), len(os.sched_getaffinity(0))),
        device=computes_on,
        time_limit_s=matrix["time_limit_s"],
        counters=tuple(entry.get("counters", ())),
    )


def one_line(entry: dict[str, Any]) -> str:
    """The label of a workload, as a name in a sentence."""
    return " ".join(entry["label"].split())


@cache
def device() -> str:
    """Where runs of this machine compute: on its GPU if PyTorch can use one."""
    import torch  # slow, and not needed to look at a matrix

    return "cuda" if torch.cuda.is_available() else "cpu"


def hardware() -> str:
    """What the runs use, in the words of claims.toml."""
    return "gpu" if device() == "cuda" else "cpu"


def read_toml(path: Path) -> dict[str, Any]:
    """The contents of a TOML file."""
    try:
        contents: dict[str, Any] = tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path}: expected a readable TOML file: {error}") from error
    return contents
