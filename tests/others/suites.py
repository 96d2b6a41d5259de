"""What `suites.toml` says: other people's tests and trainings, and where they come from."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomllib

TABLE = Path(__file__).with_name("suites.toml")
ENVIRONMENTS = Path(__file__).resolve().parents[2] / ".venvs"


@dataclass(frozen=True)
class Source:
    """A package's own distribution: what to ask the registry for, and the digest that must come."""

    name: str
    requirement: str
    sha256: str


@dataclass(frozen=True)
class Suite:
    """Tests or a training that runs as one command, once plain and once recorded.

    Attributes:
        name: as in the table.
        python: the interpreter of the environment that it runs in.
        source: what is unpacked into its working directory; None if everything is installed already.
        kind: "pytest", "cpython" or "script".
        words: files or names of tests, or the script with its arguments.
        saved: patterns of the files that a script leaves.
        program: what is copied into its working directory, and prints the same in each run; None where nothing is.
        ci: whether it is of the small part that is meant for CI.
    """

    name: str
    python: Path
    source: Source | None
    kind: str
    words: tuple[str, ...]
    saved: tuple[str, ...]
    program: Path | None
    ci: bool

    def command(self, report: Path) -> list[str]:
        """The command that runs it in its working directory; tests write their outcomes to `report`, as JUnit does."""
        if self.kind == "pytest":
            options = ("-q", "-p", "no:cacheprovider", "--timeout", "300", f"--junit-xml={report}")
            return [str(self.python), "-m", "pytest", *options, *self.words]
        if self.kind == "cpython":
            return [str(self.python), "-m", "test", "--junit-xml", str(report), *self.words]
        return [str(self.python), *self.words]


def read_suites(table: Path = TABLE, environments: Path = ENVIRONMENTS) -> list[Suite]:
    """All suites of a table.

    Args:
        table: the TOML file.
        environments: the folder of environments, of which a suite names one.
    """
    read = tomllib.loads(table.read_text())
    sources = {name: Source(name, **source) for name, source in read.get("sources", {}).items()}
    return [_suite(name, entry, sources, environments, table.parent) for name, entry in read["suites"].items()]


def _suite(name: str, entry: dict[str, Any], sources: dict[str, Source], environments: Path, folder: Path) -> Suite:
    (kind,) = {"pytest", "cpython", "script"} & entry.keys()
    return Suite(
        name=name,
        python=environments / entry.get("environment", "others") / "bin" / "python",
        source=sources[entry["source"]] if "source" in entry else None,
        kind=kind,
        words=tuple(entry[kind]),
        saved=tuple(entry.get("saved", ())),
        program=folder / entry["program"] if "program" in entry else None,
        ci=entry.get("ci", False),
    )
