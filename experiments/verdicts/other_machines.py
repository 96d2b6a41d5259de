"""This file reads what other machines have measured, and judges claims by several machines."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import pandas as pd

from experiments.harness.case_study import CaseStudy, device
from experiments.harness.execute import Execution
from experiments.harness.machine import machine_and_gpus
from experiments.harness.provenance import (
    TO,
    Provenance,
    days_text,
    of_another_recorder,
    packages_text,
    provenance,
    remark_on,
)
from experiments.verdicts.claims import Claim, Verdict, judge, load_claims
from experiments.verdicts.corrected import Caveats, analyzed, most_no_core, no_core_text
from experiments.verdicts.deciding import deciding
from experiments.verdicts.kept_verdicts import MEASURED
from experiments.verdicts.statistics import Estimate
from experiments.verdicts.study_page import StudyPage
from rlscope.errors import UsageError
from rlscope.plots.tables import write_csv
from rlscope.trace.files import PROCESS_FILE_SUFFIX

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

MACHINE = "machine.json"
#: In the output of a study: what was measured here.
MEASUREMENTS = "measurements"
THIS_MACHINE = "this machine"


@dataclass(frozen=True)
class Measured:
    """Measurements of a machine, by where they come from; a study adds the measurements themselves.

    Attributes:
        device: where its runs computed: cpu or cuda.
        budget: how much was run.
        command: that measured.
        date: the days of its runs, as of a `Provenance`.
        machine: its processor, memory, kernel and GPUs.
        versions: of Python and the packages that ran.
        recorders: that recorded the runs, as of a `Provenance`.
        no_core_share: the largest share of a run's time in which it waited for a core, from 0 to 1; None if not known.
    """

    device: str
    budget: str
    command: str
    date: str
    machine: Mapping[str, Any]
    versions: Mapping[str, str]
    recorders: Sequence[Mapping[str, Any]]
    no_core_share: float | None = field(default=None, kw_only=True)

    @property
    def hardware(self) -> str:
        """Return the same as `device`, in the words of claims.toml."""
        return "gpu" if self.device == "cuda" else "cpu"

    @property
    def is_provisional(self) -> bool:
        """Return whether too little was run to rely on it."""
        return self.budget != "paper"

    @property
    def device_name(self) -> str:
        """Return the name of the GPU that computed, or of the processor where none did."""
        return str(self.machine["gpus"][0] if self.device == "cuda" else self.machine["cpu"])

    def circumstances(self) -> dict[str, Any]:
        """Return what measurements that are compared have in common; the rest of a machine may differ."""
        return {
            "machine": {name: self.machine.get(name) for name in ("cpu", "cores", "gpus")},
            "device": self.device,
            "budget": self.budget,
            "versions": dict(self.versions),
            "recorder": sorted({str(recorder["recorder_sha256"]) for recorder in self.recorders}),
        }

    @property
    def source(self) -> str:
        """Return a sentence about where this comes from."""
        beside = f"{self.machine['cores']} cores" + (f" of {self.machine['cpu']}" if self.device == "cuda" else "")
        another = of_another_recorder(self.recorders)
        return (
            f"Measured on {self.device_name} ({beside}), "
            f"{self.date}, {self.budget} budget, by `{self.command}`, with {packages_text(self.versions)}."
        ) + "".join(
            f" {said}." for said in (another and f"The results are {another}", no_core_text(self.no_core_share)) if said
        )

    @property
    def remark(self) -> str:
        """Return the same, short, for a verdict."""
        return remark_on(self.device_name, self.date, self.command, self.recorders)

    def save(self, directory: Path) -> None:
        """Write where they come from, into a new directory if need be; a study adds files with what it measured."""
        directory.mkdir(parents=True, exist_ok=True)
        about = {each.name: value for each in fields(Measured) if (value := getattr(self, each.name)) is not None}
        (directory / MACHINE).write_text(json.dumps(about, indent=2) + "\n")


SomeMeasured = TypeVar("SomeMeasured", bound=Measured)
SomeTables = TypeVar("SomeTables", bound="DataclassInstance")


@dataclass(frozen=True)
class MeasuredTables(Measured, Generic[SomeTables]):
    """The tables that a machine has measured, and where they come from.

    Attributes:
        tables: each is a field of this, and a file of the same name.
    """

    tables: SomeTables

    def continued(self, later: Self) -> Self:
        """Return these and those of a later part of the same study, as one.

        Raises:
            UsageError: They are not of the same kind of machine, budget, versions and recorder.
        """
        for name, own in (now := later.circumstances()).items():
            if own != (other := self.circumstances()[name]):
                raise UsageError(
                    f"expected the same {', '.join(now)} in both parts of a study, found as {name} {other} in the "
                    f"earlier part and {own} in this one. Measure both in the same way"
                )
        return replace(
            later,
            command=f"{self.command} && {later.command}",
            date=days_text([*self.date.split(TO), *later.date.split(TO)]),
            tables=joined(type(self.tables), [vars(self.tables), vars(later.tables)]),
            no_core_share=most_no_core([self.no_core_share, later.no_core_share]),
        )

    def save(self, directory: Path) -> None:
        """Write the files that `load_tables` reads."""
        super().save(directory)
        for name, table in vars(self.tables).items():
            write_csv(table, directory / f"{name}.csv")


def origin_here(study: CaseStudy, executions: Sequence[Execution]) -> dict[str, Any]:
    """Return the same as `origin_of` of a study's runs on this machine; without any, of the machine as it is.

    And the most of a recorded run's time in which it waited for a core.
    """
    found = provenance(study.budget, {study.folder.name: study.repetitions_of_each}, executions)
    origin = origin_of(device(), found if executions else replace(found, hardware=[machine_and_gpus()]))
    shares = [
        analyzed(each.trace).no_core_share for each in executions if any(each.trace.glob(f"*{PROCESS_FILE_SUFFIX}"))
    ]
    return origin | {"no_core_share": most_no_core(shares)}


def origin_of(device: str, found: Provenance) -> dict[str, Any]:
    """Return what `Measured` has of runs on this machine, by name; the machine's own name on the network is left out.

    Raises:
        UsageError: The runs were executed on machines of different kinds.
    """
    if len(found.hardware) != 1:
        raise UsageError(
            f"expected runs of one kind of machine, found {len(found.hardware)}: their times are not comparable. "
            "Use another --output"
        )
    return {
        "device": device,
        "budget": found.budget,
        "command": found.command,
        "date": found.date,
        "machine": {name: value for name, value in found.hardware[0].items() if name != "nodes"},
        "versions": {name: version for packages in found.versions.values() for name, version in packages.items()},
        "recorders": found.recorders,
    }


def load(
    directory: Path, names: Sequence[str], make: Callable[[Sequence[Path], dict[str, Any]], SomeMeasured]
) -> SomeMeasured:
    """Return what a study has saved.

    Args:
        directory: where.
        names: of its files besides that of the machine.
        make: from their paths, and what `origin_of` found, to what was saved.

    Raises:
        UsageError: It is damaged.
    """
    try:
        return make([directory / name for name in names], json.loads((directory / MACHINE).read_text()))
    except (OSError, ValueError, TypeError, KeyError, pd.errors.EmptyDataError) as error:
        raise UsageError(
            f"{directory}: expected {', '.join(names)} and {MACHINE} of a measured machine, found: {error}. "
            "Restore the directory, or remove it"
        ) from error


def joined(kind: type[SomeTables], runs: Sequence[Mapping[str, pd.DataFrame]]) -> SomeTables:
    """Return the tables of several runs, one below the other."""
    names = [field.name for field in fields(kind)]
    return kind(**{name: pd.concat([run[name] for run in runs], ignore_index=True) for name in names})


def load_tables(
    directory: Path,
    measured: Callable[..., SomeMeasured],
    kind: "type[DataclassInstance]",
    check: Callable[[str, list[str]], None],
) -> SomeMeasured:
    """Return what `MeasuredTables.save` has written.

    Args:
        directory: where.
        measured: the study's class of `MeasuredTables`.
        kind: the class of its tables.
        check: told a table's name and its columns; raises ValueError if it cannot have these.

    Raises:
        UsageError: It is damaged.
    """
    names = [field.name for field in fields(kind)]

    def make(paths: Sequence[Path], origin: dict[str, Any]) -> SomeMeasured:
        tables = {name: pd.read_csv(path) for name, path in zip(names, paths, strict=True)}
        for name, table in tables.items():
            check(name, list(table.columns))
        return measured(**origin, tables=kind(**tables))

    return load(directory, [f"{name}.csv" for name in names], make)


def exactly(key: Sequence[str], columns: Mapping[str, Sequence[str]]) -> Callable[[str, list[str]], None]:
    """Return the check for `load_tables` of tables that have just these columns.

    Args:
        key: the first columns of every table.
        columns: of each table, by its name: those after the key.
    """

    def check(name: str, found: list[str]) -> None:
        expected = [*key, *columns[name]]
        if found != expected:
            raise ValueError(f"the columns of {name}.csv are not {', '.join(expected)}")

    return check


def kept_results(directory: Path, load_one: Callable[[Path], SomeMeasured]) -> dict[str, SomeMeasured]:
    """Return the results of other machines, by the name of the folder that each has here; none without the
    directory.
    """
    return {path.parent.name: load_one(path.parent) for path in sorted(directory.glob(f"*/{MACHINE}"))}


def draw_and_judge(
    study: CaseStudy,
    page: StudyPage,
    here: SomeMeasured,
    load_one: Callable[[Path], SomeMeasured],
    draw: Callable[[CaseStudy, StudyPage, str, str, SomeMeasured], None],
    metrics_of: Callable[[SomeMeasured], Mapping[str, Estimate]],
) -> list[Verdict]:
    """Write the page of a study that is about machines alone: the figures of each machine, then all claims.

    Args:
        study: with claims.toml in its folder.
        page: with what comes first.
        here, load_one, draw, metrics_of: as for `verdicts_on_machines`.
    """
    claims = load_claims(study.folder / "claims.toml")
    verdicts = deciding(verdicts_on_machines(study, page, claims, here, load_one, draw, metrics_of), study)
    page.claims(verdicts)
    page.write(study.output / "index.html")
    return verdicts


def verdicts_on_machines(
    study: CaseStudy,
    page: StudyPage,
    claims: Sequence[Claim],
    here: SomeMeasured,
    load_one: Callable[[Path], SomeMeasured],
    draw: Callable[[CaseStudy, StudyPage, str, str, SomeMeasured], None],
    metrics_of: Callable[[SomeMeasured], Mapping[str, Estimate]],
) -> list[Verdict]:
    """Keep what was measured here, draw the figures of each machine, and judge each by claims.

    Args:
        study: with what other machines have measured in MEASURED in its folder.
        page: to draw on.
        claims: about what they measure.
        here: what this machine has measured; MEASUREMENTS in the output has it in the same form.
        load_one: reads what one of them has measured.
        draw: makes the figures of one: with what to call the machine, and the end of their names.
        metrics_of: the metrics that a machine has measured.
    """
    here.save(study.output / MEASUREMENTS)
    draw(study, page, THIS_MACHINE, "", here)
    others = kept_results(study.folder / MEASURED, load_one)
    for name, results in others.items():
        draw(study, page, results.device_name, f"_{name}", results)
    return verdicts_of(claims, here, list(others.values()), metrics_of)


def verdicts_of(
    claims: Sequence[Claim],
    here: SomeMeasured,
    others: Sequence[SomeMeasured],
    metrics_of: Callable[[SomeMeasured], Mapping[str, Estimate]],
) -> list[Verdict]:
    """Judge each machine by the claims for its hardware; where none has a GPU, those that need one are not testable.

    Args:
        claims: all.
        here: what this machine has measured.
        others: what they have measured; a remark says which one, when and by which command.
        metrics_of: the metrics that a machine has measured; the others are left out.
    """

    def judged(subject: str, measured: SomeMeasured) -> list[Verdict]:
        own = [claim for claim in claims if claim.hardware == measured.hardware]
        found = {subject: metrics_of(measured)}
        caveats = Caveats(no_core_share=measured.no_core_share)
        return judge(own, found, measured.hardware, measured.is_provisional, left_out=True, caveats=caveats)

    verdicts = judged(THIS_MACHINE, here)
    for measured in others:
        verdicts += [
            replace(verdict, remark="; ".join(filter(None, [verdict.remark, measured.remark])))
            for verdict in judged(measured.device_name, measured)
        ]
    if not any(measured.hardware == "gpu" for measured in [here, *others]):
        needing = [claim for claim in claims if claim.hardware == "gpu"]
        verdicts += judge(needing, {THIS_MACHINE: {}}, here.hardware, here.is_provisional)
    return verdicts
