"""Begin what CONTRIBUTING.md has a recipe for: `scripts/new KIND NAME` writes its files, to be filled in."""

import argparse
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
LIBRARIES, RUN_TABLES = "rlscope/libraries/__init__.py", "rlscope/analysis/run_tables.py"
MODEL, VOCABULARY, WORDS = "rlscope/model.py", "src/core/format/vocabulary.h", "docs/vocabulary.md"

SIMULATOR = '''\
"""NAME: every function of the module."""

from rlscope.model import Category
from rlscope.record.declared.kinds import Boundary

BOUNDARIES = (Boundary(library="NAME", category=Category.SIMULATOR, containers=("NAME",)),)
'''
LIBRARY = '''\
"""NAME: its steps are simulation."""

from rlscope.record.declared.kinds import FunctionHook, Hook

HOOKS: tuple[Hook, ...] = (FunctionHook("NAME", "step", ("simulation",)),)
'''
TEST = '''\
"""NAME: what is declared of it is recorded."""

from pathlib import Path

import pytest
from recording import record

PROGRAM = "import NAME; NAME.step()"


def test_a_call_is_recorded(tmp_path: Path) -> None:
    pytest.importorskip("NAME")
    recording = record(tmp_path / "trace", "python", "-c", PROGRAM)
    assert recording.returncode == 0, recording.stderr
    swept = recording.main_sweep()
'''
FINDS_CROSSING = '    assert swept["crossings"] == {"NAME.step": 1}\n'
FINDS_OPERATION = '    assert {row.operation for row in swept["breakdown"]} == {"(none)", "simulation"}\n'

TABLE = '''\
"""The table NAME: how long each process took."""

from __future__ import annotations

from dataclasses import dataclass

from rlscope.analysis.rows import Row, Rows
from rlscope.analysis.sweep import TraceSweep
from rlscope.model import NS_PER_S


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ROW(Row):
    """A process.

    Attributes:
        process: The process.
        seconds: Its wall time, as recorded.
    """

    process: str
    seconds: float


def FUNCTION(swept: TraceSweep) -> Rows[ROW]:
    """Make one row per process."""
    rows = []
    for process in swept.processes:
        seconds = (process.end_ns - process.start_ns) / NS_PER_S
        rows.append(ROW(process.name, seconds))
    return Rows(ROW, rows)
'''
DECLARATION = """
    NAME = _Table(
        ROW,
        lambda run, found: FUNCTION(run.swept),
        per="process",
        values="wall time",
    )
"""
GOLDEN = """\
# One process of 100 ns.
process stop=100
thread 0
0 + simulate
90 -
"""
EXPECTED = """\
{
  "tables": {
    "NAME": [
      {"process": "main", "seconds": 1e-07}
    ]
  }
}
"""


@dataclass(frozen=True)
class Scaffold:
    """The texts of what is begun, by their files in the checkout.

    Attributes:
        new: Files that are not there yet.
        changed: Files to which something is added.
        command: Is run after that.
    """

    new: dict[str, str]
    changed: dict[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()


def library(name: str) -> Scaffold:
    """Begin a library whose Python functions are operations."""
    return _in_list(name, LIBRARY, TEST + FINDS_OPERATION)


def simulator(name: str) -> Scaffold:
    """Begin a library whose native functions are a simulator's."""
    return _in_list(name, SIMULATOR, TEST + FINDS_CROSSING)


def _in_list(name: str, declared: str, test: str) -> Scaffold:
    new = {f"rlscope/libraries/{name}.py": declared, f"tests/integration/test_{name}.py": test}
    listed = _before(_text(LIBRARIES), "    }.items()\n", f'        "{name}": ("{name}",),\n')
    return Scaffold(
        {path: text.replace("NAME", name) for path, text in new.items()},
        {LIBRARIES: listed},
    )


def table(name: str) -> Scaffold:
    """Begin a table of an analysis."""
    row = "".join(word.capitalize() for word in name.removesuffix("s").split("_")) + "Row"
    function = f"{name.removesuffix('s')}_rows"

    def filled(text: str) -> str:
        return text.replace("NAME", name).replace("ROW", row).replace("FUNCTION", function)

    lines = _text(RUN_TABLES).splitlines(keepends=True)
    imported = f"from rlscope.analysis.tables.{name} import {row}, {function}\n"
    place = next(place for place, line in enumerate(lines) if line.startswith("from rlscope.") and line > imported)
    return Scaffold(
        {
            f"rlscope/analysis/tables/{name}.py": filled(TABLE),
            f"tests/golden/{name}.trace.txt": GOLDEN,
            f"tests/golden/{name}.expected.json": filled(EXPECTED),
        },
        {RUN_TABLES: "".join([*lines[:place], imported, *lines[place:], filled(DECLARATION)])},
        (sys.executable, "scripts/write_docs.py"),
    )


def stage(name: str) -> Scaffold:
    """Begin a stage, which the published figures count as backpropagation until it is said otherwise."""
    if f'"{name}"' in _text(VOCABULARY):
        sys.exit(f"scripts/new: a label {name} is in {VOCABULARY} already; choose another name")
    words, member = name.replace("_", " "), "".join(word.capitalize() for word in name.split("_"))
    number = _text(VOCABULARY).partition("enum class Stage ")[2].partition("}")[0].count(" = ")
    header = _before(_text(VOCABULARY), "};\nconstexpr const char* kStageLabels", f"  k{member} = {number},\n")
    row = f"| {name} | what it is | `{name}` |\n"
    return Scaffold(
        {},
        {
            MODEL: _before(
                _text(MODEL),
                "\n\nclass Purpose(",
                f'    {name.upper()} = "{name}", "{words.capitalize()}", "backpropagation", "gpu", (), ""\n',
            ),
            VOCABULARY: _before(header, "};\nconstexpr size_t kStages", f', "{name}"'),
            WORDS: _before(_text(WORDS), "| none of them | ", row),
        },
    )


def _text(path: str) -> str:
    return (CHECKOUT / path).read_text()


def _before(text: str, end: str, added: str) -> str:
    """Return a text with something before the only place that reads so."""
    before, found, after = text.partition(end)
    assert found and end not in after, end
    return before + added + found + after


KINDS: dict[str, Callable[[str], Scaffold]] = {make.__name__: make for make in (library, simulator, stage, table)}


def main() -> None:
    """Write the files, and say which."""
    parser = argparse.ArgumentParser(prog="scripts/new", description=__doc__)
    parser.add_argument("kind", choices=KINDS, help="what is begun")
    parser.add_argument("name", help="what it is called, as a module of Python")
    asked = parser.parse_args()
    if not asked.name.isidentifier() or not asked.name.islower():
        parser.error(f"expected a name of small letters, digits and underscores, found {asked.name!r}")
    begun = KINDS[asked.kind](asked.name)
    if there := [path for path in begun.new if (CHECKOUT / path).exists()]:
        sys.exit(f"scripts/new: {there[0]} is there already; choose another name")
    for path, text in (begun.new | begun.changed).items():
        (CHECKOUT / path).write_text(text)
    if begun.command:
        subprocess.run(begun.command, cwd=CHECKOUT, check=True)
    print(*(f"new: {path}" for path in begun.new), *(f"changed: {path}" for path in begun.changed), sep="\n")
    print(f"CONTRIBUTING.md, 'Adding something', says what to fill in for a {asked.kind}")


if __name__ == "__main__":
    main()
