"""What one machine has measured of data collection: as files that can be kept, and read without that machine."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas

from experiments.provenance import Provenance, packages_text
from experiments.throughput import Throughputs, read_rows, throughputs_of, write_rows
from rlscope.errors import UsageError
from rlscope.plots.tables import write_csv

ROWS, LAYERS, CROSSINGS, MACHINE = "rows.jsonl", "layers.csv", "crossings.csv", "machine.json"


@dataclass(frozen=True)
class Results:
    """The measurements of a machine, and where they come from.

    Attributes:
        device: where its runs computed: cpu or cuda.
        rows: as the measuring command writes them.
        layers: as from `experiments.layers.layers_of`.
        crossings: likewise.
        budget: how much was run.
        command: that measured.
        date: when, in UTC.
        machine: its processor, memory, kernel and GPUs.
        versions: of Python and the packages that ran.
    """

    device: str
    rows: Sequence[Mapping[str, Any]]
    layers: pandas.DataFrame
    crossings: pandas.DataFrame
    budget: str
    command: str
    date: str
    machine: Mapping[str, Any]
    versions: Mapping[str, str]

    @property
    def hardware(self) -> str:
        """The same as `device`, in the words of claims.toml."""
        return "gpu" if self.device == "cuda" else "cpu"

    @property
    def is_provisional(self) -> bool:
        """Whether too little was run to rely on it."""
        return self.budget != "paper"

    @property
    def device_name(self) -> str:
        """Of the GPU that computed; of the processor, where none did."""
        return str(self.machine["gpus"][0] if self.device == "cuda" else self.machine["cpu"])

    @cached_property
    def measured(self) -> Throughputs:
        """The rows as lines."""
        return throughputs_of(self.rows)

    @property
    def source(self) -> str:
        """A sentence about where this comes from."""
        beside = f"{self.machine['cores']} cores" + (f" of {self.machine['cpu']}" if self.device == "cuda" else "")
        return (
            f"Measured on {self.device_name} ({beside}), "
            f"{self.date[:10]}, {self.budget} budget, by `{self.command}`, with {packages_text(self.versions)}."
        )

    def save(self, directory: Path) -> None:
        """Write the files that `load` reads."""
        directory.mkdir(parents=True, exist_ok=True)
        write_rows(self.rows, directory / ROWS)
        write_csv(self.layers, directory / LAYERS)
        write_csv(self.crossings, directory / CROSSINGS)
        about = {name: value for name, value in asdict(self).items() if name not in ("rows", "layers", "crossings")}
        (directory / MACHINE).write_text(json.dumps(about, indent=2) + "\n")


def results_on(
    device: str,
    rows: Sequence[Mapping[str, Any]],
    layers: pandas.DataFrame,
    crossings: pandas.DataFrame,
    found: Provenance,
) -> Results:
    """What has been measured on this machine; its name on the network is left out.

    Raises:
        UsageError: The runs were executed on machines of different kinds.
    """
    if len(found.hardware) != 1:
        raise UsageError(
            f"expected runs of one kind of machine, found {len(found.hardware)}: their times are not comparable. "
            "Use another --output"
        )
    machine = {name: value for name, value in found.hardware[0].items() if name != "nodes"}
    versions = {name: version for packages in found.versions.values() for name, version in packages.items()}
    return Results(device, rows, layers, crossings, found.budget, found.command, found.date, machine, versions)


def load(directory: Path) -> Results:
    """What `save` has written.

    Raises:
        UsageError: It is damaged.
    """
    try:
        about = json.loads((directory / MACHINE).read_text())
        tables = [pandas.read_csv(directory / name) for name in (LAYERS, CROSSINGS)]
        return Results(rows=read_rows(directory / ROWS), layers=tables[0], crossings=tables[1], **about)
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(
            f"{directory}: expected {ROWS}, {LAYERS}, {CROSSINGS} and {MACHINE} of a measured machine, found: {error}. "
            "Restore the directory, or remove it"
        ) from error


def kept_results(directory: Path) -> dict[str, Results]:
    """The results of other machines, by the name of the folder that each has here; none without the directory."""
    return {path.parent.name: load(path.parent) for path in sorted(directory.glob(f"*/{MACHINE}"))}
