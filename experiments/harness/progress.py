"""This file follows a study's runs: which are complete, which have failed, and how long the rest may take."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.status import Status

from experiments.harness.execute import DamagedManifestError, Execution, Run, RunFailedError, completed, execute
from rlscope.text.numbers import duration


@dataclass(frozen=True)
class Workload:
    """This is what some bars stand for: a training script with arguments, as it is run in one group of runs.toml.

    Attributes:
        name: of the workload, in tables too.
        label: the text under its bars.
        group: name of the group; a figure holds the workloads of one.
        kind: what the study compares by, such as "on-policy"; "extra" for what is in no figure.
    """

    name: str
    label: str
    group: str
    kind: str


@dataclass(frozen=True)
class StudyRun:
    """A run with its place in the study.

    Attributes:
        study: name of the study.
        workload: what runs.
        repetition: of the workload, from 0.
        run: how it runs.
        directory: where its trace, log and manifest are to be.
        minutes: how long it may take, as far as runs.toml knows.
        cores: that it needs for itself.
    """

    study: str
    workload: Workload
    repetition: int
    run: Run
    directory: Path
    minutes: float
    cores: int

    @property
    def name(self) -> str:
        """Return the name of the run for people, over all studies."""
        return f"{self.study}/{self.run.name}"

    @property
    def study_workload(self) -> tuple[str, Workload]:
        """Return what all repetitions of the run have in common."""
        return self.study, self.workload


@dataclass
class Recorded:
    """This is what has become of runs so far.

    A workload that has failed is not tried again: its other repetitions would take as long to fail.
    """

    executed: dict[Path, Execution] = field(default_factory=dict)
    failures: dict[tuple[str, Workload], str] = field(default_factory=dict)

    def executed_of(self, runs: Sequence[StudyRun]) -> list[tuple[StudyRun, Execution]]:
        """Return those of these runs that ended well."""
        return [(run, self.executed[run.directory]) for run in runs if run.directory in self.executed]

    def failures_of(self, runs: Sequence[StudyRun]) -> list[str]:
        """Return what there is to say of the workloads among these that failed."""
        return [self.failures[key] for key in dict.fromkeys(run.study_workload for run in runs) if key in self.failures]

    def is_open(self, run: StudyRun) -> bool:
        """Return whether it is still to be executed."""
        return run.directory not in self.executed and run.study_workload not in self.failures

    def provisional_text(self, runs: Sequence[StudyRun]) -> list[str]:
        """Return what a page that is drawn before all of these runs have ended has to say first; nothing afterwards."""
        left = sum(self.is_open(run) for run in runs)
        if not left:
            return []
        counts = repetitions_text(run.study_workload for run, _ in self.executed_of(runs))
        return [
            f"Provisional, {counts}: {left} of {len(runs)} runs are still to be recorded. Then this is drawn again."
        ]


class Progress:
    """Runs on their way, told on stderr: a line for each that ends, on a terminal one more for the state of all.

    Attributes:
        recorded: what has become of them.
        slots: how many runs are executed at a time; the time that is left depends on it.
        running: those that are being executed.
        on_news: is called after each run that ends, and every few seconds while runs are executed on Ray.
    """

    def __init__(self, runs: Sequence[StudyRun]) -> None:
        self.recorded = Recorded()
        self.slots = 1
        self._runs = runs
        self.running: list[StudyRun] = []
        self.on_news: Callable[[], None] = lambda: None
        self._spent: dict[str, list[tuple[float, float]]] = defaultdict(list)
        self._console = Console(stderr=True, soft_wrap=True)
        self._status: Status | None = None
        for run in runs:
            self.look_up(run)
        if self.recorded.executed:
            self.say(f"{len(self.recorded.executed)} of {len(runs)} runs are complete already")

    def look_up(self, run: StudyRun) -> bool:
        """Return whether the run is complete, by what an earlier one has left."""
        try:
            execution = completed(run.run, run.directory)
        except DamagedManifestError as error:
            self.say(str(error))
            return False
        if execution:
            self._take(run, execution)
        return execution is not None

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the state of all runs at the end of the terminal."""
        with self._console.status(self._summary()) as self._status:
            yield

    def started(self, run: StudyRun) -> None:
        """Note that a run is being executed."""
        self.running.append(run)
        self._update()

    def done(self, run: StudyRun, execution: Execution, node: str = "") -> None:
        """Note that a run has ended well."""
        self._take(run, execution)
        attempts = f", attempt {execution.attempts}" if execution.attempts > 1 else ""
        self._ended(run, f"{run.name}: {duration(execution.seconds)}{f' on {node}' if node else ''}{attempts}")

    def failed(self, run: StudyRun, error: RunFailedError) -> None:
        """Note that a run has failed for good."""
        self.recorded.failures.setdefault(run.study_workload, str(error))
        self._ended(run, f"{run.study}: {error}")

    def lost(self, run: StudyRun, reason: str) -> None:
        """Note that a run did not end and is to be executed again."""
        self.running.remove(run)
        self.say(f"{run.name}: {reason}; it is recorded again")
        self._update()

    def say(self, sentence: str) -> None:
        """Tell the user something."""
        self._console.print(sentence, markup=False, highlight=False)

    def seconds_left(self, study: str = "") -> float:
        """Return how long the open runs may take, of one study or of all.

        A run takes its minutes, times what the complete runs of its study took for theirs: where 4 runs of 1 minute
        each took 6 minutes, the next takes 1.5. Before any of its study is complete, all that are complete tell.
        """
        everything = [each for spent in self._spent.values() for each in spent]
        total = 0.0
        for run in self._runs:
            if self.recorded.is_open(run) and study in ("", run.study):
                spent = self._spent.get(run.study) or everything or [(1.0, 1.0)]
                total += 60 * run.minutes * sum(took for took, _ in spent) / sum(foreseen for _, foreseen in spent)
        return total / max(1, self.slots)

    def _take(self, run: StudyRun, execution: Execution) -> None:
        self.recorded.executed[run.directory] = execution
        self._spent[run.study].append((execution.seconds, 60 * run.minutes))

    def _ended(self, run: StudyRun, sentence: str) -> None:
        self.running.remove(run)
        closed = sum(not self.recorded.is_open(each) for each in self._runs)
        left = f", {duration(self.seconds_left())} left" if closed < len(self._runs) else ""
        self.say(f"[{closed}/{len(self._runs)}{left}] {sentence}")
        self._update()

    def _update(self) -> None:
        if self._status:
            self._status.update(self._summary())
        self.on_news()

    def _summary(self) -> str:
        names = ", ".join(run.name for run in self.running)
        counts = f"{len(self.recorded.executed)} of {len(self._runs)} done, {len(self.recorded.failures)} failed"
        return f"{counts}, {duration(self.seconds_left())} left{f': {names}' if names else ''}"


def record_in_turn(runs: Sequence[StudyRun]) -> Recorded:
    """Execute runs on this machine, one after the other, because two at once would disturb each other's times."""
    progress = Progress(runs)
    with progress.shown():
        for run in runs:
            if not progress.recorded.is_open(run):
                continue
            progress.started(run)
            try:
                execution = execute(run.run, run.directory)
            except RunFailedError as error:
                progress.failed(run, error)
            else:
                progress.done(run, execution)
    return progress.recorded


def repetitions_text(workloads: Iterable[object]) -> str:
    """Return how often each workload was run, for people: "n = 1 to 2". Each repetition names its workload once."""
    counts = Counter(workloads).values()
    fewest, most = min(counts, default=0), max(counts, default=0)
    return f"n = {fewest}" if fewest == most else f"n = {fewest} to {most}"
