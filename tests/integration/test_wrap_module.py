"""A native library that a script makes known itself: its calls are counted wherever the recording starts."""

from pathlib import Path

import pytest
from recording import record


@pytest.mark.parametrize(
    ("options", "calls", "is_over"),
    [
        ((), 30, False),
        (("--delay-iterations", "1"), 20, False),
        (("--delay-iterations", "1", "--max-iterations", "1"), 10, True),
    ],
)
def test_a_module_that_is_made_known_early_is_recorded(
    options: tuple[str, ...], calls: int, is_over: bool, tmp_path: Path
) -> None:
    recording = record(tmp_path / "trace", "own_simulator.py", options=options)
    assert recording.returncode == 0, recording.stderr
    at_first, at_last = map(int, recording.stdout.split())
    assert at_first > 40
    assert at_last == (0 if is_over else at_first)
    assert recording.main_sweep()["crossings"]["math.hypot"] == calls
    assert recording.seconds(category="simulator") > 0
