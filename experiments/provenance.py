"""Where results come from: the command, the date, the machines and the packages that their runs used."""

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import pandas

from experiments.execute import Execution, read_manifest


@dataclass(frozen=True)
class Provenance:
    """What stands beside results.

    Attributes:
        command: the command line that collected them.
        date: when it did, in UTC.
        budget: how much was run.
        repetitions: of each workload, by the name of the study.
        hardware: each kind of machine that has executed runs, with the names of those of this kind under "nodes".
        versions: of Python and the packages, by the path of the Python that ran.
    """

    command: str
    date: str
    budget: str
    repetitions: Mapping[str, int]
    hardware: Sequence[Mapping[str, Any]]
    versions: Mapping[str, Mapping[str, str]]


def provenance(budget: str, repetitions: Mapping[str, int], executions: Sequence[Execution]) -> Provenance:
    """What the runs' manifests say, which may be of earlier days and of other machines than this one."""
    machines: dict[str, dict[str, Any]] = {}
    nodes: dict[str, dict[str, None]] = {}
    versions: dict[str, dict[str, str]] = {}
    for execution in executions:
        manifest = read_manifest(execution.trace.parent)
        kind = json.dumps(manifest["machine"], sort_keys=True)
        machines[kind] = manifest["machine"]
        nodes.setdefault(kind, {})[manifest["node"]] = None
        described = manifest["description"]
        installed = {name: found for name, found in described["versions"].items() if found != "not installed"}
        versions[described["python"]] = installed
    return Provenance(
        shlex.join(sys.orig_argv),
        datetime.now(timezone.utc).isoformat(timespec="seconds"),
        budget,
        dict(repetitions),
        [{**facts, "nodes": sorted(nodes[kind])} for kind, facts in machines.items()],
        versions,
    )


def provenance_table(provenance: Provenance) -> pandas.DataFrame:
    """The same for people: one row for each fact."""
    rows = [
        ("command", provenance.command),
        ("date", provenance.date),
        ("budget", provenance.budget),
        ("repetitions", ", ".join(f"{study}: {number}" for study, number in provenance.repetitions.items())),
        *(("machine", machine_text(machine)) for machine in provenance.hardware),
        *((python, packages_text(packages)) for python, packages in provenance.versions.items()),
    ]
    return pandas.DataFrame(rows, columns=["results of", "found"])


def machine_text(machine: Mapping[str, Any]) -> str:
    """A machine in one line."""
    parts = [
        machine["cpu"],
        f"{machine['cores']} cores",
        f"{machine['memory_bytes'] / 1e9:.0f} GB",
        f"Linux {machine['kernel']}",
        *machine.get("gpus", []),
        *([f"driver {machine['driver']}"] if "driver" in machine else []),
    ]
    return f"{', '.join(parts)} ({', '.join(machine['nodes'])})"


def packages_text(packages: Mapping[str, str]) -> str:
    """Packages in one line."""
    return ", ".join(f"{name} {version}" for name, version in packages.items())
