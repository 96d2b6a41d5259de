"""Outputs where something lies already: what rlscope wrote is replaced, else nothing is lost without --force."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from adversary_runs import call, is_one_error, small_trace, start
from matplotlib.figure import Figure

from rlscope.calibration.calibration import Calibration, conditions_here
from rlscope.cli import calibrate
from rlscope.outputs import MARK
from rlscope.plots.drawing import Drawing

MINE = "# what a user wrote\nimport rlscope\n"
#: Each verb that writes a file, with the file's ending.
FILES = {
    "report": (("report", "TRACE", "-o"), ".html"),
    "compare": (("compare", "TRACE", "TRACE", "--html"), ".html"),
    "plot svg": (("plot", "breakdown", "TRACE", "--view", "complete", "-o"), ".svg"),
    "plot png": (("plot", "breakdown", "TRACE", "--view", "complete", "-o"), ".png"),
    "plot pdf": (("plot", "breakdown", "TRACE", "--view", "complete", "-o"), ".pdf"),
    "csv": (("analyze", "TRACE", "--csv"), ".csv"),
    "csv of columns": (("analyze", "TRACE", "TRACE", "--by", "stage,category", "--csv"), ".csv"),
    "csv of functions": (("analyze", "TRACE", "--by", "function", "--csv"), ".csv"),
    "parquet": (("analyze", "TRACE", "--parquet"), ".parquet"),
    "perfetto": (("export", "TRACE", "--to", "perfetto", "-o"), ".pftrace"),
    "perfetto, compressed": (("export", "TRACE", "--to", "perfetto", "-o"), ".pftrace.gz"),
    "chrome": (("export", "TRACE", "--to", "chrome", "-o"), ".json"),
    "chrome, compressed": (("export", "TRACE", "--to", "chrome", "-o"), ".json.gz"),
    "folded": (("export", "TRACE", "--to", "folded", "-o"), ".folded"),
    "folded, compressed": (("export", "TRACE", "--to", "folded", "-o"), ".folded.gz"),
    "arrow": (("export", "TRACE", "--to", "parquet", "-o"), ".arrow"),
    "calibrate": (("calibrate", "-o"), ".json"),
}


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_trace(tmp_path_factory.mktemp("outputs") / "trace")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory. Calibrations and figures of reports are there without the time that they take."""

    def draw(drawing: Drawing) -> None:
        drawing.stem.with_suffix(".svg").write_text(f"<svg>{MARK}</svg>")
        drawing.stem.with_suffix(".csv").write_text("stage,percent\n")

    found = Calibration(conditions_here("monotonic"), "2026-01-02T03:04:05Z", {}, {})
    monkeypatch.setattr(Drawing, "write", draw)
    monkeypatch.setattr(calibrate, "_by_loops", lambda: (found, {}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(trace: Path, verb: str, output: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    words, _ = FILES[verb]
    return call(*(trace if word == "TRACE" else word for word in words), output, *options)


@pytest.mark.parametrize("verb", FILES)
def test_a_file_is_replaced_if_it_is_rlscopes(verb: str, trace: Path, folder: Path) -> None:
    output = folder / f"file{FILES[verb][1]}"
    output.write_text(MINE)
    refused = written(trace, verb, output)
    assert is_one_error(refused, 2) and str(output) in refused.stderr and "--force" in refused.stderr
    assert output.read_text() == MINE and os.listdir(folder) == [output.name]
    for options in (["--force"], []):
        assert written(trace, verb, output, *options).returncode == 0
        assert output.read_bytes() != MINE.encode() and os.listdir(folder) == [output.name]


def test_an_empty_file_is_replaced(trace: Path, folder: Path) -> None:
    """As `mktemp` makes one."""
    for verb in ("csv", "parquet", "chrome", "folded", "report"):
        (folder / "file.html").write_bytes(b"")
        assert written(trace, verb, folder / "file.html").returncode == 0
        assert (folder / "file.html").stat().st_size > 0


def figure(path: Path) -> None:
    Figure().savefig(path)


#: Files that users have, of the same formats.
OTHERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a page": (
        "report",
        lambda path: path.write_text("<!doctype html>\n<html lang='en'><title>RL-Scope</title></html>"),
    ),
    "a figure": ("plot png", figure),
    "a drawing": ("plot svg", figure),
    "a paper": ("plot pdf", figure),
    "a table": ("csv", lambda path: path.write_text("name,seconds\nan,1\n")),
    "a table of one column": ("csv", lambda path: path.write_text("stage\nan\n")),
    "a data set": ("parquet", lambda path: pd.DataFrame({"seconds": [1.0]}).to_parquet(path)),
    "a profile": ("chrome", lambda path: path.write_text('{"traceEvents": [], "displayTimeUnit": "ms"}')),
    "stacks": ("folded", lambda path: path.write_text("main;train;step;forward 12\nmain;train;step;python 3\n")),
    "settings": ("calibrate", lambda path: path.write_text('{"schema": 4}\n')),
    "a notebook about rlscope": ("chrome", lambda path: path.write_text("rlscope export, RL-Scope")),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_files_of_these_formats_are_not(name: str, trace: Path, folder: Path) -> None:
    verb, make = OTHERS[name]
    output = folder / f"file{FILES[verb][1]}"
    make(output)
    before = output.read_bytes()
    assert is_one_error(written(trace, verb, output), 2)
    assert output.read_bytes() == before and os.listdir(folder) == [output.name]


def test_a_trace_is_no_output(trace: Path, folder: Path) -> None:
    copied = Path(shutil.copytree(trace, folder / "copied"))
    before = {path.name: path.read_bytes() for path in copied.iterdir()}
    for path in copied.iterdir():
        if before[path.name]:
            assert is_one_error(written(trace, "csv", path), 2)
    assert {path.name: path.read_bytes() for path in copied.iterdir()} == before


def test_a_link_is_not_followed(trace: Path, folder: Path) -> None:
    (folder / "kept").mkdir()
    assert written(trace, "csv", folder / "kept" / "rows.csv").returncode == 0
    before = (folder / "kept" / "rows.csv").read_bytes()
    for target in ("kept/rows.csv", "nowhere", "rows.csv"):
        (folder / "rows.csv").unlink(missing_ok=True)
        (folder / "rows.csv").symlink_to(target)
        assert is_one_error(written(trace, "csv of columns", folder / "rows.csv"), 2)
        assert written(trace, "csv of columns", folder / "rows.csv", "--force").returncode == 0
        assert not (folder / "rows.csv").is_symlink()
    assert (folder / "kept" / "rows.csv").read_bytes() == before


def test_a_stream_is_written_to(trace: Path, folder: Path) -> None:
    assert written(trace, "csv", folder / "rows.csv").returncode == 0
    expected = (folder / "rows.csv").read_text()
    assert start("analyze", trace, "--csv", "/dev/fd/1").stdout == expected
    with Path("out").open("w") as out:
        start("analyze", trace, "--csv", "/dev/stdout", stdout=out)
    assert Path("out").read_text() == expected


def test_a_device_stays_one(trace: Path) -> None:
    for verb in ("csv", "parquet", "chrome", "compare"):
        assert written(trace, verb, Path("/dev/null")).returncode == 0
    assert Path("/dev/null").is_char_device()


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", ["index.html", "figures.html", "complete.svg", "complete.csv"])
def test_a_report_replaces_nothing_of_a_user(name: str, trace: Path, folder: Path) -> None:
    """Not one of its files is written where another one cannot be."""
    site = folder / "site"
    site.mkdir()
    (site / name).write_text(MINE)
    (site / "notes.md").write_text(MINE)
    before = contents(site)
    refused = call("report", trace, "-o", site)
    assert is_one_error(refused, 2) and name in refused.stderr and "--force" in refused.stderr
    assert contents(site) == before and os.listdir(folder) == ["site"]
    assert call("report", trace, "-o", site, "--force").returncode == 0
    assert (site / name).read_text() != MINE and (site / "notes.md").read_text() == MINE


def test_a_report_is_made_again_in_its_folder(trace: Path, folder: Path) -> None:
    """With what somebody has put there besides."""
    site = folder / "site"
    for _ in range(2):
        assert call("report", trace, "-o", site).returncode == 0
        (site / "notes.md").write_text(MINE)
    first = contents(site)
    assert {"index.html", "figures.html", "complete.csv", "complete.svg", "notes.md"} <= set(first)
    assert call("report", trace, "-o", site).returncode == 0 and set(contents(site)) == set(first)
    assert call("report", trace, "-o", folder).returncode == 0  # where there are other folders, too
    assert sorted(path.name for path in folder.iterdir() if path.is_dir()) == ["site"]


def test_a_report_that_fails_leaves_the_one_before(trace: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call("report", trace, "-o", folder / "site").returncode == 0
    before = contents(folder)

    def fail(drawing: Drawing) -> None:
        raise OSError(28, "No space left on device", str(drawing.stem))

    monkeypatch.setattr(Drawing, "write", fail)
    for output in ("site", "new"):
        assert is_one_error(call("report", trace, "-o", folder / output), 1)
        assert contents(folder) == before and os.listdir(folder) == ["site"]


def test_a_folder_of_tables_is_made_again_and_holds_nothing_else(trace: Path, folder: Path) -> None:
    words = "export", trace, "--to", "parquet", "-o", folder / "tables"
    (folder / "tables").mkdir()
    for _ in range(2):
        assert call(*words).returncode == 0
    first = set(contents(folder / "tables"))
    old = folder / "tables" / "of_an_older_version.parquet"
    shutil.copy(folder / "tables" / "breakdown.parquet", old)
    assert call(*words).returncode == 0 and set(contents(folder / "tables")) == first
    (folder / "tables" / "notes.md").write_text(MINE)
    before = contents(folder)
    refused = call(*words)
    assert is_one_error(refused, 2) and "notes.md" in refused.stderr and "--force" in refused.stderr
    assert contents(folder) == before
    assert call(*words, "--force").returncode == 0
    assert set(contents(folder / "tables")) == first | {"notes.md"}
    assert (folder / "tables" / "notes.md").read_text() == MINE


def test_a_folder_may_be_a_disk_of_its_own(trace: Path, folder: Path) -> None:
    (folder / "out").mkdir()
    export = [sys.executable, "-m", "rlscope", "export", str(trace), "--to", "parquet", "-o", "out"]
    script = 'mount -t tmpfs none out || exit 99; "$@" && "$@" && ls out'
    within = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", *export]
    finished = subprocess.run(within, capture_output=True, text=True)
    if finished.returncode == 99 or "unshare: " in finished.stderr:
        pytest.skip(f"a user may not mount a disk here: {finished.stderr}")
    assert finished.returncode == 0 and "events.parquet" in finished.stdout, finished.stderr
