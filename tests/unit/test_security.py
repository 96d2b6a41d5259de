"""Traces come from elsewhere: nothing in them is run, and no name in them gets out of its place."""

import ast
import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from recording import rlscope

from benchmarks.trace_writer import TraceWriter
from rlscope.model import Category
from rlscope.record.config import CONFIG_NAME, RecordConfig
from rlscope.record.run.trace_directory import STARTUP_DIRECTORY
from rlscope.text import printable
from rlscope.trace.manifest import (
    MANIFEST_NAME,
    UNRECORDED_NAME,
    note_unrecorded,
    read_manifest,
    read_unrecorded,
    write_manifest,
)

PACKAGE = Path(__file__).resolve().parents[2] / "rlscope"
# Modules that run what they read.
UNSAFE_MODULES = {"pickle", "cPickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "yaml", "code"}
UNSAFE_BUILTINS = {"eval", "exec", "compile", "__import__"}
UNSAFE_METHODS = {
    ("os", "system"), ("os", "popen"), ("subprocess", "getoutput"), ("subprocess", "getstatusoutput"),
    ("pandas", "read_pickle"), ("pd", "read_pickle"), ("numpy", "load"), ("np", "load"), ("torch", "load"),
}  # fmt: skip


def unsafe_nodes(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        modules = []
        if isinstance(node, ast.Import):
            modules = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
        yield from (
            f"line {getattr(node, 'lineno', 0)} imports {name}"
            for name in modules
            if name.split(".")[0] in UNSAFE_MODULES
        )
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name) and called.id in UNSAFE_BUILTINS:
            yield f"line {node.lineno} calls {called.id}"
        if isinstance(called, ast.Attribute) and (ast.unparse(called.value), called.attr) in UNSAFE_METHODS:
            yield f"line {node.lineno} calls {ast.unparse(called)}"
        for keyword in node.keywords:
            is_off = isinstance(keyword.value, ast.Constant) and not keyword.value.value
            if keyword.arg in ("shell", "allow_pickle") and not is_off:
                yield f"line {node.lineno} gives {keyword.arg}"


@pytest.mark.parametrize("file", sorted(PACKAGE.rglob("*.py")), ids=lambda file: str(file.relative_to(PACKAGE)))
def test_nothing_read_is_run(file: Path) -> None:
    assert list(unsafe_nodes(ast.parse(file.read_text()))) == []


@pytest.mark.parametrize(
    "source",
    [
        "import pickle", "from yaml import load", "eval('1')", "exec(text)", "os.system('ls')",
        "subprocess.run('ls', shell=True)", "subprocess.run('ls', shell=flag)", "pd.read_pickle(path)",
    ],
)  # fmt: skip
def test_what_is_unsafe_is_found(source: str) -> None:
    assert len(list(unsafe_nodes(ast.parse(source)))) == 1


#: Runs the start-up hook as a Python does for which the extension was not built.
START_UP_WITHOUT_EXTENSION = """
import _imp, runpy, sys
_imp.extension_suffixes = list
runpy.run_path(sys.argv[1])
"""

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"double\" 'single' `back` & <angle>",
    "two\nlines\r\nand a\ttab",
    "emoji \U0001f468\u200d\U0001f469\u200d\U0001f467 \u00fc \u4e2d",
    "long " + "x" * 10_000,
    "nul \0 inside",
    "bidi \u202e gnp.exe \u2066 isolate",
    "escape \x1b]0;title\x07 \x1b[31mred\x1b[0m \x9b2J",
    "[red]markup[/red] [/]",
    r"math $\frac{1}{$ and 100 % \n",
    "../../etc/passwd",
    "=cmd|' /C calc'!A0",
    "",
)
# What a terminal or an HTML page may act on, apart from the line ends of the output itself.
ACTIVE = re.compile("[\0-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One process per name; the name is that of the process, an operation, a phase and a boundary."""
    writer = TraceWriter(tmp_path_factory.mktemp("hostile") / "trace")
    for number, name in enumerate(HOSTILE):
        process = writer.process(pid=100 + number, start_ticks=0)
        process.properties({"process_name": name, "versions": {name: name}, "threads": {str(100 + number): name}})
        thread = process.thread()
        thread.begin_phase(0, name)
        thread.begin_operation(0, "training_loop")
        thread.begin_operation(10_000_000, name)
        thread.boundary(20_000_000, 40_000_000, Category.BACKEND, name)
        thread.end(50_000_000)
        thread.end(60_000_000)
        thread.end(70_000_000)
        process.stop(80_000_000)
    return writer.write({"command": list(HOSTILE[6:10]), "complete": True, "exit_status": 0})


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_printable_text_is_one_line_of_visible_characters(name: str) -> None:
    shown = printable(name)
    assert ACTIVE.search(shown) is None and "\n" not in shown
    assert shown.startswith(name.split(" ")[0].split("\n")[0][:3])
    if name.isprintable():
        assert shown == name


@pytest.mark.parametrize("verb", [("analyze",), ("analyze", "--by", "thread,operation"), ("inspect",)], ids=" ".join)
def test_a_terminal_gets_nothing_to_act_on(verb: tuple[str, ...], trace: Path) -> None:
    finished = rlscope(verb[0], trace, *verb[1:])
    assert (finished.returncode, finished.stderr) == (0, "")
    assert ACTIVE.search(finished.stdout) is None
    assert r"\x1b]0;title\x07" in finished.stdout.replace("\n", "") or r"\x1b" in finished.stdout
    assert "[red]" in finished.stdout


def test_json_and_csv_hold_every_name_as_it_is(trace: Path, tmp_path: Path) -> None:
    finished = rlscope("analyze", trace, "--json")
    assert finished.returncode == 0, finished.stderr
    rows = json.loads(finished.stdout)["breakdown"]
    for column, others in (("operation", {"(none)", "training_loop"}), ("phase", {"(none)"})):
        assert {row[column] for row in rows} - others == set(HOSTILE), column
    assert {row["process"] for row in rows} >= set(HOSTILE) - {""}
    contents = json.loads(rlscope("inspect", trace, "--json").stdout)
    assert {row["boundary"] for row in contents["crossings"]} == set(HOSTILE)
    assert {row["name"] for row in contents["threads"]} == set(HOSTILE)
    assert rlscope("analyze", trace, "--csv", tmp_path / "rows.csv").returncode == 0
    csv.field_size_limit(1 << 20)
    with (tmp_path / "rows.csv").open(newline="", encoding="utf-8") as file:
        found = {row["operation"] for row in csv.DictReader(file)}
    assert found >= set(HOSTILE)


class Tags(HTMLParser):
    """Which tags and attributes a page really has."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_the_report_shows_names_as_text_and_stays_in_its_directory(trace: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in trace.iterdir()}
    work = tmp_path / "work"
    work.mkdir()
    named = shutil.copytree(trace, tmp_path / HOSTILE[1])
    finished = rlscope("report", named, "-o", "out", cwd=work)
    assert finished.returncode == 0, finished.stderr
    html = (work / "out" / "figures.html").read_bytes().decode()
    page = Tags()
    page.feed(html)
    assert page.tags <= {
        "html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "figure", "a", "img", "figcaption",
        "table", "thead", "tbody", "tr", "th", "td", "div", "code", "header", "span", "main", "script",
    }  # fmt: skip
    assert not [name for name in page.attributes if name.startswith("on")]
    assert HOSTILE[1] in "".join(page.texts)
    assert ACTIVE.search(html) is None
    for svg in (work / "out").glob("*.svg"):
        assert "<script" not in svg.read_text()
    # Nothing but below OUT, and the trace untouched.
    assert sorted(os.listdir(work)) == ["out"]
    assert sorted(os.listdir(tmp_path)) == [HOSTILE[1], "work"]
    assert {trace / path.name: path.read_bytes() for path in named.iterdir()} == before


def test_a_name_that_is_no_unicode_can_be_shown(tmp_path: Path) -> None:
    """JSON can say half a surrogate pair, which no output can be written with."""
    process = (writer := TraceWriter(tmp_path / "trace")).process()
    process.properties({"process_name": "half \ud83d", "versions": {"\udc80": "\udc80"}, "threads": {"1": "\ud800"}})
    process.thread().begin_operation(0, "step")
    process.stop(10)
    trace = writer.write()
    for arguments in ((), ("--json",), ("--csv", tmp_path / "rows.csv")):
        finished = rlscope("analyze", trace, *arguments)
        assert (finished.returncode, finished.stderr) == (0, "")
    for arguments in ((), ("--json",)):
        finished = rlscope("inspect", trace, *arguments)
        assert (finished.returncode, finished.stderr) == (0, "")
    assert rlscope("report", trace, "-o", tmp_path / "out").returncode == 0


def test_an_error_is_one_line_whatever_the_path(tmp_path: Path) -> None:
    for verb in (("analyze",), ("inspect",), ("report", "-o", tmp_path / "out")):
        finished = rlscope(verb[0], tmp_path / "no\nsuch \x1b[31m trace", *verb[1:])
        assert finished.returncode == 2
        assert finished.stderr.startswith("rlscope: error: ") and finished.stderr.count("\n") == 1
        assert ACTIVE.search(finished.stderr) is None


def test_a_link_in_the_place_of_a_temporary_file_is_not_followed(tmp_path: Path) -> None:
    """As somebody would leave it who may write into the directory and knows which process comes."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    trace = tmp_path / "trace"
    trace.mkdir()
    for name in (MANIFEST_NAME, CONFIG_NAME):
        (trace / f".{name}.{os.getpid()}").symlink_to(victim)
        (trace / name).symlink_to(victim)
    write_manifest(trace, {"a": 1})
    RecordConfig().save(trace)
    assert victim.read_text() == "mine"
    assert read_manifest(trace) == {"a": 1}
    assert RecordConfig.load(trace) == RecordConfig()


def test_a_link_in_the_place_of_the_list_of_unrecorded_processes_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / UNRECORDED_NAME).symlink_to(victim)
    with pytest.raises(OSError, match="symbolic links"):
        note_unrecorded(tmp_path, "a reason")
    finished = subprocess.run(
        [sys.executable, "-c", START_UP_WITHOUT_EXTENSION, str(STARTUP_DIRECTORY / "sitecustomize.py")],
        env={**os.environ, "RLSCOPE_TRACE": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert (finished.returncode, finished.stderr) == (0, "")
    assert victim.read_text() == "mine"


def test_processes_that_were_not_recorded_are_listed_and_then_counted(tmp_path: Path) -> None:
    for number in range(150):
        note_unrecorded(tmp_path, f"reason {number}\nin two lines")
    found = read_unrecorded(tmp_path)
    assert found[0] == f"process {os.getpid()}: reason 0 in two lines"
    assert found[-1] == "50 more processes were not recorded"
    assert len(found) == 101


def test_the_start_up_hook_lies_alone_and_as_safe_as_the_package() -> None:
    """Whoever may write there may change rlscope itself; nothing else of the package comes onto the path with it."""
    assert [file.name for file in STARTUP_DIRECTORY.iterdir() if file.suffix == ".py"] == ["sitecustomize.py"]
    startup, package = STARTUP_DIRECTORY.stat(), STARTUP_DIRECTORY.parents[1].stat()
    assert startup.st_uid == package.st_uid
    # In an image, which any uid may change, others may write to both.
    assert startup.st_mode & 0o022 & ~package.st_mode == 0
