"""What a recorded program pickles, by name and by value, is what it would be alone: its own functions, not ours."""

import re
import zipfile
from pathlib import Path

import pytest
from recording import record, run_plain

#: One for each way in which a function is replaced.
NAMED = [
    "simulation=__main__:Steps.step",
    "simulation=__main__:Game.walk",
    "simulation=__main__:Game.frames",
    "inference=__main__:Game.wait",
    "simulation=__main__:Timer(walk)",
    "simulation=__main__:Timers.timed(walk)",
]


@pytest.mark.parametrize(
    ("options", "operations"),
    [((), 1), (("--no-auto", *(word for named in NAMED for word in ("--operation", named))), 6)],
    ids=["operations of libraries", "operations that are named"],
)
def test_pickles_are_the_same(options: tuple[str, ...], operations: int, tmp_path: Path) -> None:
    plain = run_plain("pickled_by_value.py")
    assert plain.returncode == 0, plain.stderr
    recording = record(tmp_path / "trace", "pickled_by_value.py", options=options)
    assert recording.returncode == 0, recording.stderr
    assert recording.stdout == plain.stdout
    assert recording.main_sweep()["events"]["operation"] == operations


def test_saved_models_are_the_same(tmp_path: Path) -> None:
    for folder in ("plain", "recorded"):
        (tmp_path / folder).mkdir()
    plain = run_plain("saved_models.py", tmp_path / "plain")
    assert plain.returncode == 0, plain.stderr
    recording = record(tmp_path / "trace", "saved_models.py", tmp_path / "recorded")
    assert recording.returncode == 0, recording.stderr
    assert recording.main_sweep()["events"]["operation"] > 100
    for name in ("ppo", "own", "dqn"):
        saved = contents(tmp_path / "plain" / f"{name}.zip")
        assert {"data", "policy.pth", "policy.optimizer.pth"} <= saved.keys()
        assert contents(tmp_path / "recorded" / f"{name}.zip") == saved


def contents(model: Path) -> dict[str, bytes]:
    """The members of a model's archive, whose times are not compared; where objects lie in memory is left out."""
    with zipfile.ZipFile(model) as archive:
        return {name: re.sub(rb" at 0x[0-9a-f]+", b"", archive.read(name)) for name in archive.namelist()}
