"""A program behaves the same recorded, whatever its classes of environments hold in the place of a method."""

from pathlib import Path

import pytest
from recording import record, run_plain

from rlscope import _analysis


@pytest.mark.parametrize("library", ["gymnasium", "gym"])
def test_each_shape_is_the_same_recorded(library: str, tmp_path: Path) -> None:
    plain = run_plain("class_shapes.py", library)
    assert plain.returncode == 0, plain.stderr
    assert not [line for line in plain.stdout.splitlines() if " raised " in line]
    recording = record(tmp_path / "trace", "class_shapes.py", library)
    assert recording.returncode == 0, recording.stderr
    assert recording.stdout.splitlines() == plain.stdout.splitlines()
    assert recording.main_sweep()["misnested_operations"] == 0


@pytest.mark.parametrize("library", ["gymnasium", "gym"])
def test_a_step_is_simulation_also_from_a_mixin_and_in_another_process(library: str, tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "class_sources.py", library)
    assert (recording.returncode, recording.stdout) == (0, "done\n"), recording.stderr
    for path in recording.files:
        swept = vars(_analysis.sweep(str(path)))
        # Of the mixin, of a method put into the class of another, and of an own one; then static and class methods.
        assert swept["events"]["operation"] == 5, swept["properties"]
        assert {row[1] for row in swept["breakdown"]} == {"(none)", "simulation"}
    assert len(recording.files) == 2
