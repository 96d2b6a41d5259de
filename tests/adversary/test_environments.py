"""Environments that verbs are started in: no home, no terminal, another locale, odd paths, closed folders."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from adversary_runs import call, is_one_error, small_trace, start
from asked_for import with_slow
from recording import RLSCOPE, environment, record

from benchmarks.trace_writer import TraceWriter
from experiments import CHECKOUT
from rlscope.calibration.calibration import cache_path
from rlscope.errors import UsageError
from rlscope.model import DeviceWork
from rlscope.plots import figure_files
from rlscope.plots.tables import FORMULA_STARTS

ENVIRONMENTS: dict[str, dict[str, str | None]] = {
    "no home": {"HOME": None, "XDG_CACHE_HOME": None},
    "home is nowhere": {"HOME": "/nowhere", "XDG_CACHE_HOME": None},
    "home is relative": {"HOME": "here", "XDG_CACHE_HOME": "there"},
    "no terminal": {"TERM": None, "COLUMNS": None},
    "unknown terminal": {"TERM": "nosuch", "COLUMNS": "x", "LINES": "-1"},
    "C locale": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "unknown locale": {"LC_ALL": "xx_XX.nosuch", "PYTHONUTF8": "0"},
    "unknown backend of matplotlib": {"MPLBACKEND": "nosuch"},
    "no temporary folder": {"TMPDIR": "/nowhere"},
    "every warning": {"PYTHONWARNINGS": "always", "PYTHONDEVMODE": "1"},
    "optimised": {"PYTHONOPTIMIZE": "2", "PYTHONDONTWRITEBYTECODE": "1"},
    "colours": {"FORCE_COLOR": "1", "NO_COLOR": "1", "CLICOLOR_FORCE": "1"},
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_a_run_is_recorded_and_read(name: str, tmp_path: Path) -> None:
    changed, code = ENVIRONMENTS[name], "import rlscope\nwith rlscope.operation('\\u00fcben'): pass\nprint('done')"
    recorded = start("record", "-o", "trace", "--", sys.executable, "-c", code, env=changed, cwd=tmp_path)
    assert (recorded.returncode, recorded.stdout) == (0, "done\n"), recorded.stderr
    assert "Traceback" not in recorded.stderr
    analyzed = start("analyze", "trace", "--json", env=changed, cwd=tmp_path)
    assert analyzed.returncode == 0, analyzed.stderr
    assert "Traceback" not in analyzed.stderr
    assert len({row["operation"] for row in json.loads(analyzed.stdout)["breakdown"]}) == 2


@pytest.mark.parametrize(
    "names",
    with_slow(
        [("no home", "C locale", "unknown backend of matplotlib"), ("every warning",)],
        {("every warning",)},
    ),
    ids=" and ".join,
)
def test_a_report_is_drawn(names: tuple[str, ...], tmp_path: Path) -> None:
    trace = small_trace(tmp_path / "trace")
    changed = {key: value for name in names for key, value in ENVIRONMENTS[name].items()}
    drawn = start("plot", "breakdown", trace, "-o", "a.svg", env=changed, cwd=tmp_path)
    assert drawn.returncode == 0 and "Traceback" not in drawn.stderr, drawn.stderr
    reported = start("report", trace, "-o", "page", env=changed, cwd=tmp_path)
    assert reported.returncode == 0 and "Traceback" not in reported.stderr, reported.stderr


def test_the_case_studies_start_under_an_unknown_backend_of_matplotlib() -> None:
    started = subprocess.run(
        [sys.executable, CHECKOUT / "scripts" / "artifacts.py", "--help"],
        env=os.environ | {"MPLBACKEND": "nosuch"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert started.returncode == 0, started.stderr


def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a container's uid that no file knows."""
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(os, "getuid", lambda: 987_654)
    with pytest.raises(UsageError, match="a home directory was expected"):
        cache_path()


PATHS = ("sp ace", "-q'uo\"te", "$(dollar)`tick`", "new\nline", "\u00fc\u4e2d\U0001f916", b"caf\xe9", "[bold]%s{0}")


@pytest.mark.parametrize("name", PATHS, ids=repr)
def test_a_path_with_every_character(name: str | bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report of a trace by that name, beside another one, names it as it can be shown."""
    monkeypatch.setattr(figure_files, "FIGURE_FORMATS", ("svg",))
    trace = tmp_path / os.fsdecode(name) / os.fsdecode(name)
    small_trace(trace)
    (tmp_path / "out").mkdir()
    for words in (
        ("analyze", trace, trace, "--csv", tmp_path / "rows.csv"),
        ("analyze", trace, trace, "--parquet", tmp_path / "rows.parquet"),
        ("report", trace, "-o", trace.parent / "report"),
    ):
        finished = call(*words)
        assert (finished.returncode, finished.stderr) == (0, "")
    assert (trace.parent / "report" / "index.html").exists()
    assert (tmp_path / "rows.csv").exists() and (tmp_path / "rows.parquet").exists()


def test_the_last_line_can_be_pasted_into_a_shell(tmp_path: Path) -> None:
    recorded = record(tmp_path / "my $HOME trace", sys.executable, "-c", "import rlscope; rlscope.operation('x')")
    command = recorded.stderr.split("Look at it: ")[1].strip()
    words = subprocess.run(["sh", "-c", command.replace("rlscope", "printf '%s|'")], capture_output=True, text=True)
    assert words.stdout == f"report|{tmp_path / 'my $HOME trace'}|-o|report|"


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize(("umask", "expected"), [(0o022, 0o700), (0o077, 0o700), (0o277, 0o500)], ids=oct)
def test_nobody_else_may_look_into_a_trace(umask: int, expected: int, tmp_path: Path) -> None:
    """A manifest holds the whole command line. Of what the user makes himself he decides."""
    if expected == 0o500 and os.geteuid() != 0:
        pytest.skip("the trace could not be written")
    command = [*RLSCOPE, "record", "-o", "new/trace", "--", sys.executable, "-c", "import time; time.sleep(0.4)"]
    finished = subprocess.run(command, cwd=tmp_path, env=environment(), umask=umask, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    assert mode(tmp_path / "new" / "trace") == expected
    for path in (tmp_path / "new" / "trace").iterdir():
        assert mode(path) & (umask | 0o133) == 0, path.name
    (tmp_path / "own").mkdir(mode=0o755)
    assert record(tmp_path / "own", sys.executable, "-c", "").returncode == 0
    assert mode(tmp_path / "own") == 0o755


def test_no_value_of_a_variable_is_stored(tmp_path: Path) -> None:
    code = "import rlscope, time\nwith rlscope.operation('x'): time.sleep(0.4)"
    secret = {"SECRET": "d41d8cd98f"}
    finished = start("record", "-o", "trace", "--", sys.executable, "-c", code, env=secret, cwd=tmp_path)
    assert finished.returncode == 0
    assert all(b"d41d8cd98f" not in path.read_bytes() for path in (tmp_path / "trace").iterdir())


def test_a_folder_that_may_not_be_written_is_named(tmp_path: Path) -> None:
    small_trace(tmp_path / "trace")
    as_anybody = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--"] if os.geteuid() == 0 else []
    (tmp_path / "trace").chmod(0o500)
    (tmp_path / "closed").mkdir(mode=0o000)
    try:
        for words in (
            ("report", "trace", "-o", "trace/report"),
            ("plot", "breakdown", "trace", "-o", "trace/a.svg"),
            ("analyze", "closed/trace"),
            ("inspect", "closed/trace"),
            ("record", "-o", "closed/trace", "--", "true"),
            ("record", "--force", "-o", "trace", "--", "true"),
        ):
            finished = subprocess.run(
                [*as_anybody, *RLSCOPE, *words], cwd=tmp_path, env=environment(), capture_output=True, text=True
            )
            assert is_one_error(finished) and "Permission denied" in finished.stderr, words
    finally:
        (tmp_path / "trace").chmod(0o700)
        (tmp_path / "closed").chmod(0o700)


def test_no_cell_of_the_pages_tables_is_a_formula(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A spreadsheet would run `=cmd|...`; `analyze --csv` is for programs, and exact."""
    process = (writer := TraceWriter(tmp_path / "trace")).process(pid=41, name="=1+1")
    thread = process.thread()
    queue = process.queue(0)
    for number, start_of_formula in enumerate(FORMULA_STARTS):
        name = f"{start_of_formula}cmd|' /C calc'!A{number}"
        thread.begin_phase(100 * number, name)
        thread.operation(100 * number, 100 * number + 90, name)
        thread.end(100 * number + 90)
        queue.record(DeviceWork.KERNEL, 100 * number, 100 * number + 50, name, process.launch_site(name, "(none)", 0))
    process.stop(1000)
    trace = writer.write({"complete": True})
    monkeypatch.setattr(figure_files, "FIGURE_FORMATS", ("svg",))
    assert call("report", trace, "-o", tmp_path / "report").returncode == 0
    files = sorted((tmp_path / "report").glob("*.csv"))
    assert len(files) >= 4
    for file in files:
        with file.open(newline="", encoding="utf-8") as text:
            cells = [cell for row in csv.reader(text) for cell in row]
        formulas = [cell for cell in cells if cell.startswith(FORMULA_STARTS) and not is_number(cell)]
        assert not formulas, file.name
    assert start("analyze", trace, "--csv", tmp_path / "exact.csv").returncode == 0
    assert "=1+1," in (tmp_path / "exact.csv").read_text()


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
