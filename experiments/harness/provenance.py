"""This file tells the origin of results: the command, days, machines, recorders and packages of their runs."""

import json
import shlex
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from experiments import CHECKOUT
from experiments.harness.execute import Execution, read_manifest
from rlscope.build import built_from, recorder_text
from rlscope.text.numbers import size

#: Between the first and the last of several days.
TO = " to "


@dataclass(frozen=True)
class Provenance:
    """This is what stands beside results.

    Attributes:
        command: the command line that collected them.
        date: the day on which its runs began, in UTC: "2026-11-22"; the first and the last, if there are several.
        budget: how much was run.
        repetitions: of each workload, by the name of the study.
        hardware: each kind of machine that has executed runs, with the names of those of this kind under "nodes".
        versions: of Python and the packages, by the path of the Python that ran, in the checkout if it lies there.
        recorders: what each rlscope that recorded was built from, as from `built_from`.
        seconds: that all runs took together, one after the other; None where results are older than its keeping.
    """

    command: str
    date: str
    budget: str
    repetitions: Mapping[str, int]
    hardware: Sequence[Mapping[str, Any]]
    versions: Mapping[str, Mapping[str, str]]
    recorders: Sequence[Mapping[str, Any]]
    seconds: float | None = None


def provenance(budget: str, repetitions: Mapping[str, int], executions: Sequence[Execution]) -> Provenance:
    """Return what the runs' manifests say, which may be of earlier days and of other machines than this one."""
    machines: dict[str, dict[str, Any]] = {}
    nodes: dict[str, dict[str, None]] = {}
    versions: dict[str, dict[str, str]] = {}
    days: set[str] = set()
    recorders: list[Mapping[str, Any]] = []
    for execution in executions:
        manifest = read_manifest(execution.trace.parent)
        kind = json.dumps(manifest["machine"], sort_keys=True)
        machines[kind] = manifest["machine"]
        nodes.setdefault(kind, {})[manifest["node"]] = None
        described = manifest["description"]
        installed = {name: found for name, found in described["versions"].items() if found != "not installed"}
        python = Path(described["python"])
        versions[str(python.relative_to(CHECKOUT) if python.is_relative_to(CHECKOUT) else python)] = installed
        days.add(manifest["started"][: len("2026-11-22")])
        if manifest["built_from"] not in recorders:
            recorders.append(manifest["built_from"])
    return Provenance(
        shlex.join(sys.orig_argv),
        days_text(days) if days else "nothing was run",
        budget,
        dict(repetitions),
        [{**facts, "nodes": sorted(nodes[kind])} for kind, facts in machines.items()],
        versions,
        recorders,
        round(sum(execution.seconds for execution in executions), 1),
    )


def days_text(days: Collection[str]) -> str:
    """Return the first and the last of some days: "2026-11-24 to 2026-11-25"."""
    return TO.join(sorted({min(days), max(days)}))


def provenance_table(provenance: Provenance) -> pd.DataFrame:
    """Return the same for people: one row for each fact."""
    rows = [
        ("command", provenance.command),
        ("date", provenance.date),
        ("budget", provenance.budget),
        ("repetitions", ", ".join(f"{study}: {number}" for study, number in provenance.repetitions.items())),
        *(("machine", machine_text(machine)) for machine in provenance.hardware),
        *(("recorder", recorder_text(recorder)) for recorder in provenance.recorders),
        *((python, packages_text(packages)) for python, packages in provenance.versions.items()),
    ]
    return pd.DataFrame(rows, columns=["results of", "found"])


def of_another_recorder(recorders: Sequence[Mapping[str, Any]]) -> str:
    """Return why results are not of the recorder of now, as part of a sentence; empty if they are.

    Args:
        recorders: of a `Provenance`; none where results are older than the keeping of hashes.
    """
    if not recorders:
        return "of a recorder before hashes were kept"
    found, now = {recorder["recorder_sha256"] for recorder in recorders}, built_from()["recorder_sha256"]
    names = ", ".join(sorted(str(each)[:12] for each in found))
    return "" if found == {now} else f"of another recorder ({names}) than today's ({now[:12]})"


def remark_on(device_name: str, date: str, command: str, recorders: Sequence[Mapping[str, Any]]) -> str:
    """Return where a kept measurement comes from, as the remark of a verdict."""
    another = of_another_recorder(recorders)
    return f"measured on {device_name}, {date}, by `{command}`" + (f", {another}" if another else "")


def machine_text(machine: Mapping[str, Any]) -> str:
    """Return a machine in one line."""
    parts = [
        machine["cpu"],
        f"{machine['cores']} cores",
        size(machine["memory_bytes"]),
        f"Linux {machine['kernel']}",
        *machine.get("gpus", []),
        *([f"driver {machine['driver']}"] if "driver" in machine else []),
    ]
    return ", ".join(parts) + (f" ({', '.join(machine['nodes'])})" if machine["nodes"] else "")


def packages_text(packages: Mapping[str, str]) -> str:
    """Return the packages in one line."""
    return ", ".join(f"{name} {version}" for name, version in packages.items())
