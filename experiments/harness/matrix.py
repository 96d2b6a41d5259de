"""This file reads runs.toml, the matrix of a study's runs: workloads in groups, and what is recorded at each budget."""

from dataclasses import dataclass, field
from pathlib import Path

from experiments.harness.typed_toml import KEY, nearest, parsed, read_toml
from rlscope.errors import UsageError

#: Smoke: does it run at all; quick: verdicts are provisional; paper: the published schedule.
BUDGETS = ("smoke", "quick", "paper")


@dataclass(frozen=True)
class Window:
    """This says what part of a run is recorded at a budget.

    A window without iterations means that the script records itself, and ends when it has what it wants.

    Attributes:
        delay_iterations: iterations of the training loop before recording starts.
        max_iterations: iterations to record.
        later_iterations: iterations after those, which are not recorded: their times are a plain program's.
        timesteps_per_iteration: of the training, where it is not what the workload's entry says.
        arguments: of the script, after those of the group and of the workload.
        whole: whether the run is recorded from its start to its end, instead of some iterations.
    """

    delay_iterations: int = 0
    max_iterations: int = 0
    later_iterations: int = 0
    timesteps_per_iteration: int = 0
    arguments: tuple[str, ...] = ()
    whole: bool = False


@dataclass(frozen=True)
class Budget:
    """This says how much is run.

    Attributes:
        repetitions: of each workload.
        minutes: that all runs take together, on two cores.
        whole_runs: how often the published calibration runs a program; in the study of overhead correction alone.
        whole_runs_of: the arguments of that program.
    """

    repetitions: int
    minutes: float
    whole_runs: int = 0
    whole_runs_of: tuple[str, ...] = ()


@dataclass(frozen=True)
class Budgets:
    """The budgets that a matrix has, by their names in BUDGETS."""

    smoke: Budget | None = None
    quick: Budget | None = None
    paper: Budget | None = None


@dataclass(frozen=True, kw_only=True)
class Windows:
    """This is what is recorded at each budget, in an entry or in a group; None where the other one says it."""

    smoke: Window | None = None
    quick: Window | None = None
    paper: Window | None = None

    def window(self, budget: str) -> Window | None:
        """Return what is recorded at a budget, if that is said here."""
        return {"smoke": self.smoke, "quick": self.quick, "paper": self.paper}[budget]


@dataclass(frozen=True, kw_only=True)
class Group(Windows):
    """Workloads that belong together, as a rule in one figure: those of one simulator, or of one algorithm.

    Attributes:
        name: of the group.
        package: what its workloads need, by the name under which it is imported; without it the group is left out.
        python: the virtual environment of that package; empty for the Python that runs the study.
        instead_of: the package in whose place this group is there: where that package is, the group is left aside.
        id: Gymnasium's name of the environment that its workloads train in.
        arguments: of the script, before those of the workload.
        figure: name of its figure.
        title: over the figure.
        caption: under the figure.
        panel: the part of a common figure in which it is drawn.
        shows: names of workloads of other groups that its figure shows as well.
    """

    name: str
    package: str
    python: str = ""
    instead_of: str = ""
    id: str = ""
    arguments: tuple[str, ...] = ()
    figure: str = ""
    title: str = ""
    caption: str = ""
    panel: str = ""
    shows: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Entry(Windows):
    """A workload: a training script with arguments.

    Attributes:
        name: of the workload, in tables too.
        label: the text under its bars.
        kind: what the study compares by, such as "on-policy"; "extra" for what is in no figure.
        groups: names of those in which it is run; empty for all.
        hardware: gpu or cpu, if it is for machines with a GPU or without one alone.
        package: what it needs beyond its group, by the name under which it is imported.
        python: the virtual environment in which it runs; empty for the Python that runs the study.
        script: in `workloads/`, where it is not that of the matrix.
        id: Gymnasium's name of its environment, where that is not the group's.
        arguments: of the script.
        threads: that each numerical library may use, where they are not as many as in the matrix.
        total_timesteps: of the whole training, where they are not as many as in the matrix.
        timesteps_per_iteration: of the training.
        counters: of the device, to be sampled beside it.
    """

    name: str
    label: str
    kind: str
    groups: tuple[str, ...] = ()
    hardware: str = ""
    package: str = ""
    python: str = ""
    script: str = ""
    id: str = ""
    arguments: tuple[str, ...] = ()
    threads: int = 0
    total_timesteps: int = 0
    timesteps_per_iteration: int = 0
    counters: tuple[str, ...] = ()

    @property
    def one_line(self) -> str:
        """Return the label, as a name in a sentence."""
        return " ".join(self.label.split())


@dataclass(frozen=True)
class Matrix:
    """All that a runs.toml says.

    Attributes:
        threads: that each numerical library may use in a run.
        time_limit_s: a run has failed if it takes longer.
        budgets: how much is run, by budget.
        groups: of workloads.
        entries: the workloads.
        script: that workloads run which name no other.
        total_timesteps: of the whole training; 0 where workloads do not train.
        device: where all runs compute, which then have no option for it; empty for the best that the machine has.
        seeded: whether workloads that do not train take a seed.
    """

    threads: int
    time_limit_s: float
    budgets: Budgets = field(metadata={KEY: "budget"})
    groups: tuple[Group, ...] = field(metadata={KEY: "group"})
    entries: tuple[Entry, ...] = field(metadata={KEY: "workload"})
    script: str = ""
    total_timesteps: int = 0
    device: str = ""
    seeded: bool = False

    def budget(self, name: str) -> Budget:
        """Return how much is run at a budget.

        Raises:
            UsageError: The matrix does not have that budget.
        """
        found: Budget | None = getattr(self.budgets, name)
        if found is None:
            raise UsageError(f"runs.toml: expected the table [budget.{name}], found none")
        return found


@dataclass(frozen=True)
class Cell:
    """A workload in one of its groups at a budget, with everything that the matrix says of it.

    Attributes:
        group: in which it runs.
        entry: the workload.
        window: what is recorded.
        python: its virtual environment; empty for the Python that runs the study.
        package: what it needs.
        script: what it runs.
        arguments: of the script, as far as the matrix says them.
        id: Gymnasium's name of its environment.
        threads: that each numerical library may use.
        total_timesteps: of the whole training; 0 if it does not train.
        timesteps_per_iteration: of the training.
    """

    group: Group
    entry: Entry
    window: Window
    python: str
    package: str
    script: str
    arguments: tuple[str, ...]
    id: str
    threads: int
    total_timesteps: int
    timesteps_per_iteration: int


def cell_of(matrix: Matrix, group: Group, entry: Entry, budget: str) -> Cell:
    """Return what holds of a workload in a group: its entry is asked first, then the group, then the matrix.

    | of the run | its entry | its group | the matrix |
    |---|---|---|---|
    | window (smoke, quick, paper) | 1st | 2nd | |
    | timesteps_per_iteration | that of the window, then its own | that of the window | |
    | python, package, id | 1st | 2nd | |
    | script, threads, total_timesteps | 1st | | 2nd |
    | arguments | after the group's, before the window's | before | |

    Raises:
        UsageError: Nobody says what is recorded at this budget.
    """
    window = entry.window(budget) or group.window(budget)
    if window is None:
        raise UsageError(
            f"runs.toml: workload {entry.name}: expected `{budget}` there or in its group {group.name}, found neither"
        )
    return Cell(
        group,
        entry,
        window,
        entry.python or group.python,
        entry.package or group.package,
        entry.script or matrix.script,
        (*group.arguments, *entry.arguments, *window.arguments),
        entry.id or group.id,
        entry.threads or matrix.threads,
        entry.total_timesteps or matrix.total_timesteps,
        window.timesteps_per_iteration or entry.timesteps_per_iteration,
    )


def load_matrix(path: Path) -> Matrix:
    """Return the matrix in a runs.toml.

    Raises:
        UsageError: The file cannot be read, has a key that nobody knows, lacks one, or names a group that is not there.
    """
    matrix = parsed(Matrix, read_toml(path), str(path))
    known = [group.name for group in matrix.groups]
    for entry in matrix.entries:
        for name in entry.groups:
            if name not in known:
                place = f"{path}: workload {entry.name}: groups"
                raise UsageError(f"{place}: expected the name of a group{nearest(name, known)}, found `{name}`")
    return matrix
