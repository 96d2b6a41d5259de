"""Verbs that are called wrongly, or whose output has no place: one line each, nothing lost, nothing left behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from adversary_runs import call, is_one_error, small_trace, start

from container.errors import UsageError
from container.request import port
from rlscope.plots import figure_files

ROOT = Path(__file__).resolve().parents[2]
LONG = "x" * 300


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_trace(tmp_path_factory.mktemp("wrong") / "trace")


@pytest.fixture(autouse=True)
def one_format(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(figure_files, "FIGURE_FORMATS", ("svg",))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "words",
    [
        ("report", "TRACE", "-o", "file/below"),
        ("report", "TRACE", "-o", LONG),
        ("report", "TRACE", "-o", "loop"),
        ("report", "TRACE", "-o", "taken"),
        ("report", "TRACE", "-o", "/proc/report"),
        ("report", "TRACE", "-o", ""),
        ("report", "loop", "-o", "report"),
        ("plot", "breakdown", "TRACE", "-o", "folder.svg"),
        ("plot", "breakdown", "TRACE", "-o", "/proc/breakdown.svg"),
        ("plot", "breakdown", "TRACE", "-o", "file/below.svg"),
        ("plot", "breakdown", "TRACE", "-o", "breakdown.doc"),
        ("plot", "breakdown", "TRACE", "-o", f"{LONG}.svg"),
        ("plot", "pie", "TRACE", "-o", "pie.svg"),
        ("plot", "breakdown", "-o", "breakdown.svg"),
        ("analyze",),
        ("analyze", ""),
        ("analyze", "TRACE", "--by", "colour"),
        ("analyze", "TRACE", "--csv", "missing/rows.csv"),
        ("analyze", "TRACE", "--csv", "folder.svg"),
        ("analyze", "TRACE", "--csv", ""),
        ("analyze", "TRACE", "--parquet", "missing/rows.parquet"),
        ("analyze", "TRACE", "--json", "--csv", "rows.csv"),
        ("analyze", "TRACE", "--correct", "missing.json"),
        ("analyze", "TRACE", "--correct", "folder.svg"),
        ("analyze", "TRACE", "--correct", "/dev/zero"),
        ("analyze", "TRACE", "--correct", "loop"),
        ("analyze", LONG),
        ("analyze", "loop"),
        ("inspect",),
        ("inspect", "TRACE", "TRACE"),
        ("inspect", "file"),
        ("inspect", "loop"),
        ("calibrate", "-o", "file/below.json"),
        ("calibrate", "-o", "/proc/calibration.json"),
        ("calibrate", "-o", "folder.svg"),
        ("calibrate", "-o", LONG),
        ("calibrate", "-o", ""),
        ("calibrate", "true"),
        ("calibrate", "--whole-runs", "-o", "kept.json"),
        ("calibrate", "--whole-runs", "--", "true"),
        ("calibrate", "--repetitions", "0", "--whole-runs", "-o", "kept.json", "--", "true"),
        ("record",),
        ("record", "--"),
        ("record", "--", ""),
        ("record", "--", "pyton", "train.py"),
        ("record", "--", "./file"),
        ("record", "-o", "", "--", "true"),
        ("record", "-o", "file", "--", "true"),
        ("record", "-o", "file/below", "--", "true"),
        ("record", "-o", LONG, "--", "true"),
        ("record", "-o", "loop", "--", "true"),
        ("record", "-o", "/proc/trace", "--", "true"),
        ("record", "--max-seconds", "nan", "--", "true"),
        ("record", "--max-seconds", "inf", "--", "true"),
        ("record", "--max-seconds", "-1", "--", "true"),
        ("record", "--max-iterations", "0", "--", "true"),
        ("record", "--clock-port", "65536", "--", "true"),
        ("record", "--layers", "gpu,cpu", "--", "true"),
        ("record", "--counters", "nothing", "--", "true"),
        ("record", "--operation", "x", "--", "true"),
        ("fly",),
        ("--nothing",),
    ],
    ids=lambda words: " ".join(words).replace(LONG, "LONG") or "nothing",
)
def test_one_line_and_nothing_left_behind(words: tuple[str, ...], trace: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder.svg").mkdir()
    (tmp_path / "taken" / "index.html").mkdir(parents=True)
    (tmp_path / "loop").symlink_to("loop")
    before = sorted(os.listdir(tmp_path))
    finished = call(*(str(trace) if word == "TRACE" else word for word in words))
    assert is_one_error(finished) and finished.stdout == ""
    assert sorted(os.listdir(tmp_path)) == before and (tmp_path / "file").read_text() == "mine"


def test_a_wrong_command_neither_makes_nor_replaces_a_trace(trace: Path, tmp_path: Path) -> None:
    kept = small_trace(tmp_path / "kept")
    before = {path.name: path.read_bytes() for path in kept.iterdir()}
    assert is_one_error(start("record", "--force", "-o", kept, "--", "pyton", "train.py"), 2)
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == before
    (tmp_path / "tool").write_text("")  # there, but no program
    found = start("record", "-o", "new", "--", "./tool")
    assert is_one_error(found, 2) and "Permission denied" in found.stderr
    assert not (tmp_path / "new").exists()


VERBS = [("analyze", "TRACE"), ("analyze", "TRACE", "--json"), ("inspect", "TRACE"), ("inspect", "TRACE", "--json"),
         ("doctor",), ("--help",), ("--version",), ("record", "--help")]  # fmt: skip


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_a_full_output_is_one_line(words: tuple[str, ...], trace: Path) -> None:
    with Path("/dev/full").open("w") as full:
        finished = start(*(trace if word == "TRACE" else word for word in words), stdout=full)
    assert is_one_error(finished, 1) and "No space left on device" in finished.stderr


@pytest.mark.parametrize("words", [VERBS[0], VERBS[1], VERBS[5]], ids=" ".join)
def test_a_reader_that_has_gone_is_no_error(words: tuple[str, ...], trace: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    finished = start(*(trace if word == "TRACE" else word for word in words), stdout=writer)
    os.close(writer)
    assert (finished.returncode, finished.stderr) == (141, "")


def closed(*streams: int) -> "dict[str, object]":
    return {"preexec_fn": lambda: [os.close(number) for number in streams]}


def test_streams_that_are_closed_change_nothing(trace: Path) -> None:
    shown = start("analyze", trace).stdout
    assert "Where the time went" in shown
    without_stderr = start("analyze", trace, stderr=None, **closed(2))
    assert (without_stderr.returncode, without_stderr.stdout) == (0, shown)
    assert start("analyze", trace, "--json", stdout=None, **closed(1)).returncode == 0
    finished = start("analyze", "missing", stdout=None, stderr=None, **closed(0, 1, 2))
    assert finished.returncode == 2


def test_a_recorded_command_finds_the_streams_as_they_were(tmp_path: Path) -> None:
    code = "import os\ntry: os.fstat(2)\nexcept OSError: os.write(1, b'closed')"
    finished = start("record", "-o", "trace", "--", sys.executable, "-c", code, stderr=None, **closed(2))
    assert (finished.returncode, finished.stdout) == (0, "closed")


def test_a_working_directory_that_is_gone(trace: Path, tmp_path: Path) -> None:
    script = 'mkdir gone; cd gone; rmdir ../gone; exec "$@"'
    for words in (("doctor",), ("record", "--", "true"), ("analyze", "trace"), ("report", trace, "-o", "out")):
        command = [sys.executable, "-c", "import sys; sys.path[:0] = [sys.argv.pop(1)]; import rlscope.__main__", ROOT]
        finished = subprocess.run(
            ["sh", "-c", script, "sh", *map(str, [*command, *words])], capture_output=True, text=True
        )
        assert is_one_error(finished), words


@pytest.mark.parametrize("text", ["999.999.1.1:80:80", "٣:٤", "1.2.3:80:80", "80", "0:80", "80:65536", ":80:80"])
def test_ports_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="expected --publish"):
        port(text)
    assert port("127.0.0.2:80:8080") == "127.0.0.2:80:8080"


def test_a_wrong_budget_is_found_before_anything_is_installed(tmp_path: Path) -> None:
    asked = ["make", "--dry-run", "-C", str(ROOT), "artifacts"]
    wrong = subprocess.run([*asked, "BUDGET=nope"], capture_output=True, text=True)
    assert wrong.returncode != 0 and 'found "nope"' in wrong.stderr and wrong.stdout.count("pip install") == 0
    spaced = subprocess.run([*asked, "OUTPUT=my dir"], capture_output=True, text=True)
    assert '--output "my dir"' in spaced.stdout


def test_a_log_that_looks_like_an_option_is_refused(tmp_path: Path) -> None:
    finished = subprocess.run([ROOT / "scripts" / "build_for_gpu", "--nope"], capture_output=True, text=True, env={})
    assert finished.returncode == 2 and "found --nope" in finished.stderr
    assert not (ROOT / "--nope").exists()


def test_case_studies_have_a_folder_of_their_own() -> None:
    finished = subprocess.run(
        [sys.executable, ROOT / "scripts" / "artifacts.py", "--output", "", "--dry-run"], capture_output=True, text=True
    )
    assert finished.returncode == 2 and "expected a folder" in finished.stderr
