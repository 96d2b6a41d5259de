"""`rlscope export`: what it says and refuses. Other programs read its files in tests/page."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from page_traces import training
from trace_builder import write_scripts

from rlscope.cli.main import verbs
from rlscope.errors import UsageError

VERB = "rlscope.cli.export"


def export(trace: Path, target: str, output: Path, *options: str) -> Result:
    return CliRunner().invoke(verbs, ["export", str(trace), "--to", target, "-o", str(output), *options])


def test_a_file_is_there_once_it_is_whole_and_the_same_each_time(tmp_path: Path) -> None:
    trace = write_scripts([training(3)], tmp_path / "trace")
    outputs = [tmp_path / "a.pftrace.gz", tmp_path / "b.pftrace.gz"]
    for output in outputs:
        found = export(trace, "perfetto", output)
        assert found.exit_code == 0 and found.output.startswith("wrote 20 slices: ")
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    (process_file,) = trace.glob("*.rlscope")
    process_file.write_bytes(process_file.read_bytes()[:-4096])
    assert export(trace, "perfetto", outputs[0]).exit_code != 0
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.pftrace.gz", "b.pftrace.gz", "trace"]


@pytest.mark.parametrize("most", [19, 20])
def test_what_a_browser_does_not_hold_is_said(most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = write_scripts([training(3)], tmp_path / "trace")
    monkeypatch.setattr(f"{VERB}.MOST_SLICES_OF_A_BROWSER", most)
    found = export(trace, "perfetto", tmp_path / "out.pftrace")
    assert ("a browser holds about 19 slices" in found.output and "--window" in found.output) == (most == 19)


def test_a_directory_is_no_file_and_a_window_lies_in_the_run(tmp_path: Path) -> None:
    trace = write_scripts([training(3)], tmp_path / "trace")
    found = export(trace, "perfetto", tmp_path)
    assert isinstance(found.exception, UsageError) and "found a directory" in str(found.exception)
    found = export(trace, "perfetto", tmp_path / "out.pftrace", "--window", "7:9")
    assert isinstance(found.exception, UsageError) and "the run lasts 199 ms" in str(found.exception)
