"""Begin what CONTRIBUTING.md has a recipe for: `scripts/new KIND NAME` writes its files, to be filled in."""

import argparse
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
LIBRARIES, RUN_TABLES = "rlscope/libraries/__init__.py", "rlscope/analysis/run_tables.py"
MODEL, VOCABULARY, WORDS = "rlscope/model.py", "src/core/format/vocabulary.h", "docs/vocabulary.md"
FORMATS, EXPORTED = "rlscope/cli/export.py", "docs/export.md"
TAGS, VERSION, FORMAT_PAGE = "rlscope/trace/format.py", "rlscope/version.py", "docs/trace-format.md"
RULES, RULE_TESTS = "rlscope/rules", "tests/unit/test_rules.py"
SWEPT, SWEEP, REPORTS = "rlscope/analysis/swept.py", "src/analysis/sweep/sweep.cpp", "src/analysis/sweep/reports"

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

from rlscope.analysis.rows import Row, Rows
from rlscope.analysis.sweep import TraceSweep
from rlscope.model import NS_PER_S


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
EXPORT = '''\
"""This file writes where the time of a run went as lines of JSON."""

import json
from collections.abc import Callable

from rlscope.export.run import ExportRun


def write_NAME(run: ExportRun, write: Callable[[bytes], object]) -> int:
    """Give one line per function to `write`, and return how many there are."""
    for row in run.analysis.calls:
        write(json.dumps(row.record()).encode() + b"\\n")
    return len(run.analysis.calls)


def is_NAME(begin: bytes, _: bytes) -> bool:
    """Tell whether a file begins with such a line, which has no place for a mark."""
    return begin.startswith(b'{"process": ')
'''
EXPORT_TEST = '''\
"""A trace in the format NAME has what it is to have."""

import json
from pathlib import Path

from click.testing import CliRunner
from page_traces import training
from trace_builder import write_scripts

from rlscope.cli.main import verbs


def test_all_seconds_are_there(tmp_path: Path) -> None:
    trace, output = write_scripts([training(3)], tmp_path / "trace"), tmp_path / "out"
    for _ in range(2):  # the second time it replaces its own
        found = CliRunner().invoke(verbs, ["export", str(trace), "--to", "NAME", "-o", str(output)])
        assert found.exit_code == 0, found.output
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    assert round(sum(row["seconds"] for row in rows), 6) == 0.199
'''
CLAIM = """
[[claim]]
id = "ours"
statement = "What is claimed, in one sentence"
metric = "NAME"
definition = "how it is measured"
published = "not stated"
above = 0.0
hardware = "cpu"
may_differ = "why a re-run may find something else"
untested = "nothing is measured for it yet"
"""
#: Of a record, what is added before which line of which file.
RECORD_LINES = (
    (TAGS, "\n\nclass MemoryOwner(", '    #: What it says.\n    TAG = NUMBER, "count"\n'),
    (FORMAT_PAGE, "version OLDER knows no", "version VERSION knows no WORDS; "),
    (FORMAT_PAGE, "- **Collective**: ", "- **TITLE**: what it says.\n"),
    (
        SWEPT,
        "\nclass SweptSampleTail(",
        '''
class SweptROW(NamedTuple):
    """This is what the records of an operation said, summed; operations that read the same may have several."""

    stage: Label
    operation: Label
    count: Count

''',
    ),
    (SWEPT, "        sample_tails: The tail", "        NAME: What the records said; empty for a window.\n"),
    (SWEPT, "    sample_tails: list[", "    NAME: list[SweptROW]\n"),
    (
        f"{REPORTS}.h",
        "\n  CpuTimeTable& cpu_times()",
        "  void add(const STRUCTNumbers& record, Scope scope) { NAME_[scope] += record.count; }\n",
    ),
    (f"{REPORTS}.h", "  SweptCollectives collectives_;", "  std::map<Scope, uint64_t> NAME_;\n"),
    (
        f"{REPORTS}.cpp",
        "  result.collectives = ",
        """\
  for (const auto& [scope, count] : NAME_) {
    result.NAME.push_back({tables.stage_of(scope), tables.operation_of(scope), count});
  }
""",
    ),
    (
        SWEEP,
        "  } else if (auto message = ",
        """\
  } else if (auto NAME = reader.tagged().as<STRUCTNumbers>()) {
    reports_.add(*NAME, owner_.scope_of(thread));
""",
    ),
)
RECORD_TABLE = '''\
"""The table NAME: what each operation had."""

from __future__ import annotations

from collections import Counter

from rlscope.analysis.rows import Row, Rows
from rlscope.analysis.sweep import TraceSweep


class ROWRow(Row):
    """An operation of a process.

    Attributes:
        process: The process.
        stage: The stage of the operation.
        operation: Its name, or that of no operation.
        count: What its records said, summed.
    """

    process: str
    stage: str
    operation: str
    count: int


def FUNCTION(swept: TraceSweep) -> Rows[ROWRow]:
    """Make one row per process and operation."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for process in swept.processes:
        for row in process.found.NAME:
            counts[process.name, row.stage, row.operation] += row.count
    return Rows(ROWRow, (ROWRow(*key, count) for key, count in counts.items()))
'''
RECORD_DECLARATION = """
    NAME = _Table(
        ROWRow,
        lambda run, found: FUNCTION(run.swept),
        needs="NAME",
        per="process, stage, operation",
        values="count",
        title="TITLE",
        largest="count",
    )
"""
RECORD_GOLDEN = """\
# Two records of an operation, and one outside of any.
process stop=100
thread 0
0 + simulation
10 NAME count 3
20 NAME count 4
90 -
95 NAME count 1
"""
RECORD_EXPECTED = """\
{
  "tables": {
    "NAME": [
      {"process": "main", "stage": "(none)", "operation": "(none)", "count": 1},
      {"process": "main", "stage": "simulation", "operation": "simulation", "count": 7}
    ]
  }
}
"""
RULE = '''\
"""Do less of NAME.

**Why it is slow.** What takes the time, and how long.

**Slow**

    NAME.call()                                    # in each step

**Faster**

    NAME.call()                                    # once

**How it is found.** Stacks pass functions of NAME in a tenth of the training or more.

**When it is wrong.** Where the training is for this.
"""

from collections.abc import Iterator

from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for functions of NAME."""
    yield from evidence.calls(("NAME/",), "call NAME less often")
'''
RULE_CASE = '        (f"call:{PACKAGE}/NAME/calls.py:1", "CODE"),\n'


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
    row, function = _row_of(name), f"{name.removesuffix('s')}_rows"

    def filled(text: str) -> str:
        return text.replace("NAME", name).replace("ROW", f"{row}Row").replace("FUNCTION", function)

    return Scaffold(
        {
            f"rlscope/analysis/tables/{name}.py": filled(TABLE),
            f"tests/golden/{name}.trace.txt": GOLDEN,
            f"tests/golden/{name}.expected.json": filled(EXPECTED),
        },
        {RUN_TABLES: _declared(name, f"{row}Row, {function}", filled(DECLARATION))},
        (sys.executable, "scripts/write_docs.py"),
    )


def record(name: str) -> Scaffold:
    """Begin a record of a trace, with a table of its sums by operation; something has to write it yet."""
    row, function = _row_of(name), f"{name.removesuffix('s')}_rows"
    tags = _text(TAGS).partition("class OtherTag(")[2].partition("\n\n\n")[0]
    version = int(_text(VERSION).rpartition(" = ")[2])
    words = {
        "NUMBER": str(len(re.findall(r"^    [A-Z_]+ = \d+,", tags, flags=re.MULTILINE)) + 1),
        "STRUCT": "".join(word.capitalize() for word in name.split("_")),
        "FUNCTION": function,
        "VERSION": str(version),
        "OLDER": str(version - 1),
        "TITLE": name.replace("_", " ").capitalize(),
        "WORDS": name.replace("_", " "),
        "TAG": name.upper(),
        "ROW": row,
        "NAME": name,
    }

    def filled(text: str) -> str:
        return re.sub("|".join(words), lambda found: words[found[0]], text)

    changed = {VERSION: _text(VERSION).replace(f" = {version}", f" = {version + 1}")}
    for path, end, added in RECORD_LINES:
        changed[path] = _before(changed.get(path) or _text(path), filled(end), filled(added))
    return Scaffold(
        {
            f"rlscope/analysis/tables/{name}.py": filled(RECORD_TABLE),
            f"tests/golden/{name}.trace.txt": filled(RECORD_GOLDEN),
            f"tests/golden/{name}.expected.json": filled(RECORD_EXPECTED),
        },
        changed | {RUN_TABLES: _declared(name, f"{row}Row, {function}", filled(RECORD_DECLARATION))},
        (sys.executable, "scripts/write_docs.py"),
    )


def _row_of(name: str) -> str:
    return "".join(word.capitalize() for word in name.removesuffix("s").split("_"))


def _declared(name: str, imported: str, declaration: str) -> str:
    """Return the file of declared tables with another one at its end."""
    lines = _text(RUN_TABLES).splitlines(keepends=True)
    line = f"from rlscope.analysis.tables.{name} import {imported}\n"
    place = next(place for place, other in enumerate(lines) if other.startswith("from rlscope.") and other > line)
    return "".join([*lines[:place], line, *lines[place:], declaration])


def export(name: str) -> Scaffold:
    """Begin a format that `rlscope export` writes."""
    return Scaffold(
        {
            f"rlscope/export/{name}.py": EXPORT.replace("NAME", name),
            f"tests/unit/test_export_{name}.py": EXPORT_TEST.replace("NAME", name),
        },
        {
            FORMATS: _before(
                _text(FORMATS),
                "}\n#: A file with this ending",
                f'    "{name}": Format(counted="lines", has_window=False),\n',
            ),
            EXPORTED: _before(_text(EXPORTED), "\nTests read files with Perfetto", f"| `{name}` | what reads it |\n"),
        },
    )


def claim(name: str) -> Scaffold:
    """Begin a claim of a study, STUDY.METRIC, for which nothing is measured yet."""
    study, _, metric = name.partition(".")
    path = f"experiments/{study}/claims.toml"
    if not metric or not (CHECKOUT / path).exists():
        sys.exit(f"scripts/new: expected STUDY.METRIC, of a study that has a claims.toml in experiments/, found {name}")
    if f'metric = "{metric}"' in _text(path):
        sys.exit(f"scripts/new: a claim about {metric} is in {path} already; choose another name")
    return Scaffold(
        {},
        {path: _text(path) + CLAIM.replace("NAME", metric)},
        (sys.executable, "scripts/artifact_page.py"),
    )


def rule(name: str) -> Scaffold:
    """Begin a rule, KIND.NAME, with the next code of its kind, which looks for functions of a package."""
    kind, _, about = name.partition(".")
    codes = [path.name[:6] for path in sorted((CHECKOUT / RULES).glob(f"{kind.upper()}*.py"))]
    if not about or not codes or len(kind) != len("rls2"):
        sys.exit(f"scripts/new: expected KIND.NAME with a kind such as rls2, found {name}")
    code = f"RLS{int(codes[-1][3:]) + 1}"
    case = RULE_CASE.replace("NAME", about).replace("CODE", code)
    return Scaffold(
        {f"{RULES}/{code}_{about}.py": RULE.replace("NAME", about)},
        {RULE_TESTS: _before(_text(RULE_TESTS), "    ],\n)\ndef test_a_function_that_is_known_to_be_slow", case)},
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


KINDS: dict[str, Callable[[str], Scaffold]] = {
    make.__name__: make for make in (library, simulator, stage, table, record, claim, export, rule)
}


def main() -> None:
    """Write the files, and say which."""
    parser = argparse.ArgumentParser(prog="scripts/new", description=__doc__)
    parser.add_argument("kind", choices=KINDS, help="what is begun")
    parser.add_argument("name", help="what it is called, as a module of Python")
    asked = parser.parse_args()
    words = asked.name.split(".") if asked.kind in ("claim", "rule") else [asked.name]
    if not all(word.isidentifier() for word in words) or (asked.kind != "claim" and not asked.name.islower()):
        parser.error(f"expected a name of small letters, digits and underscores, found {asked.name!r}")
    begun = KINDS[asked.kind](asked.name)
    if there := [path for path in begun.new if (CHECKOUT / path).exists()]:
        sys.exit(f"scripts/new: {there[0]} is there already; choose another name")
    for path, text in (begun.new | begun.changed).items():
        (CHECKOUT / path).write_text(text)
    if begun.command:
        subprocess.run(begun.command, cwd=CHECKOUT, check=True, stdout=subprocess.DEVNULL)
    print(*(f"new: {path}" for path in begun.new), *(f"changed: {path}" for path in begun.changed), sep="\n")
    print(f"CONTRIBUTING.md, 'Adding something', says what to fill in for a {asked.kind}")


if __name__ == "__main__":
    main()
