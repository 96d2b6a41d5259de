"""Numbers that no run has, in files beside a trace and in options: each is one clear line, or counts for nothing."""

import json
from pathlib import Path

import pytest
from adversary_runs import MANIFEST, call, is_one_error, small_trace

from rlscope.compare.timings import TIMINGS_NAME
from rlscope.trace.windows import REQUESTS_NAME

RUN = {"start_realtime_ns": 10**18, "length_ns": 10**9}
ODD: tuple[object, ...] = (
    10**400, 1.7e308, float("inf"), float("nan"), 2**63, -1, 1.5, True, None, "1", [[]], {"length_ns": 1},
)  # fmt: skip


def timed(folder: Path, runs: object) -> Path:
    folder.mkdir()
    document = {"schema": 1, "command": ["python"], "machine": "a machine", "runs": runs}
    (folder / TIMINGS_NAME).write_text(json.dumps(document))
    return folder


@pytest.mark.parametrize("key", RUN)
@pytest.mark.parametrize("value", ODD, ids=lambda value: repr(value)[:20])
def test_times_that_no_run_has(value: object, key: str, tmp_path: Path) -> None:
    good, bad = timed(tmp_path / "good", [RUN] * 3), timed(tmp_path / "bad", [RUN, {**RUN, key: value}])
    found = call("compare", good, bad)
    assert is_one_error(found, 2) and key in found.stderr and len(found.stderr) < 500


@pytest.mark.parametrize("runs", [[], {}, None, 7, "runs", [[]], [{}], [None]], ids=repr)
def test_times_without_runs(runs: object, tmp_path: Path) -> None:
    good, bad = timed(tmp_path / "good", [RUN] * 3), timed(tmp_path / "bad", runs)
    for sides in ((good, bad), (bad, good)):
        found = call("compare", *sides)
        assert is_one_error(found, 2) and "holds no times of `rlscope bench --time`" in found.stderr


def test_the_longest_and_the_shortest_run_are_compared(tmp_path: Path) -> None:
    lengths = {"long": 2**63 - 1, "short": 1}
    sides = [timed(tmp_path / name, [{**RUN, "length_ns": length}] * 3) for name, length in lengths.items()]
    for pair in (sides, sides[::-1]):
        assert (call("compare", *pair).returncode, call("compare", *pair, "--json").returncode) == (0, 0)


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a run that was recorded in windows."""
    directory = tmp_path_factory.mktemp("odd") / "job"
    small_trace(directory / "window-1")
    (directory / REQUESTS_NAME).touch()
    return directory


WINDOWS: tuple[object, ...] = (
    {}, [], None, 7, "7", {"windows": 3}, {"bytes": 3}, {"windows": "3", "bytes": 4}, {"windows": -1, "bytes": 1},
    {"windows": 1e400, "bytes": 1}, {"windows": 10**400, "bytes": 10**400}, {"windows": None, "bytes": 1},
)  # fmt: skip


@pytest.mark.parametrize("overwritten", WINDOWS, ids=lambda value: repr(value)[:40])
@pytest.mark.parametrize("verb", ["inspect", "analyze"])
def test_a_count_of_overwritten_windows_that_is_none(verb: str, overwritten: object, job: Path) -> None:
    (job / "manifest.json").write_text(json.dumps({**MANIFEST, "overwritten": overwritten}))
    found = call(verb, job)
    assert "overwritten" not in found.stdout + found.stderr
    if verb == "inspect":
        assert is_one_error(found, 2) and "window-1" in found.stderr
    else:
        assert (found.returncode, found.stderr) == (0, "")


def test_a_count_of_overwritten_windows_is_said(job: Path) -> None:
    (job / "manifest.json").write_text(json.dumps({**MANIFEST, "overwritten": {"windows": 3, "bytes": 4096}}))
    assert "3 before them were overwritten" in call("inspect", job).stderr
    assert "3 windows before them were overwritten" in call("analyze", job).stdout


PARTS = (
    "1e300:1e301", "1e290:1e291", "0:1e300", "1e9:1e10", "0:1e400", "nan:1", "1:nan", "-1:1", "2:1", "1:1", "1", ":",
)  # fmt: skip


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("target", ["chrome", "report"])
def test_a_part_that_no_run_has(target: str, part: str, tmp_path: Path) -> None:
    trace, output = small_trace(tmp_path / "trace"), tmp_path / "page.html"
    words = ("report", trace, "--focus") if target == "report" else ("export", trace, "--to", target, "--window")
    found = call(*words, part, "-o", output)
    assert is_one_error(found, 2) and "expected two times in seconds" in found.stderr and not output.exists()


@pytest.mark.parametrize("part", ["0:1e9", "0:5e-324", "1e-300:1e-299"])
def test_a_part_of_any_length_is_written(part: str, tmp_path: Path) -> None:
    trace = small_trace(tmp_path / "trace")
    for target in ("chrome", "perfetto", "parquet"):
        found = call("export", trace, "--to", target, "-o", tmp_path / target, "--window", part)
        assert (found.returncode, found.stderr) == (0, "")
    assert call("report", trace, "--focus", part, "-o", tmp_path / "page.html").returncode == 0


@pytest.mark.parametrize("target", ["chrome", "perfetto", "parquet"])
def test_a_part_behind_the_run_is_refused(target: str, tmp_path: Path) -> None:
    trace = small_trace(tmp_path / "trace")
    found = call("export", trace, "--to", target, "-o", tmp_path / "out", "--window", "9e8:1e9")
    assert is_one_error(found, 2) and "a window within the run was expected" in found.stderr
