"""The callback of transformers and TRL: its shares are in the log, before those who write it, and are the trace's."""

import json
from pathlib import Path

import pytest
from framework_runs import PROGRAMS, record_in, run_in
from logged_windows import percentages_of, settled

PREFIX = "rlscope/"


def test_each_step_logs_what_the_trace_has_in_its_window(tmp_path: Path) -> None:
    folder = {"TENSORBOARD_LOGGING_DIR": str(tmp_path / "logs"), "HF_HUB_OFFLINE": "1"}
    recording = record_in("pytorch", tmp_path / "trace", "trl_logged.py", **folder)
    printed = recording.printed
    lines = [
        {name: value for name, value in line.items() if name.startswith(PREFIX) and value} for line in printed["logged"]
    ]
    assert [bool(line) for line in lines] == [True, True, True, False]  # not the summary at the end
    windows = [tuple(window) for window in printed["windows"]]
    for line, window in zip(lines, windows, strict=False):
        expected = percentages_of(recording.main_file, window)
        assert settled(line) == pytest.approx(settled(expected), abs=1e-9)
    assert {"rlscope/stage/inference_percent", "rlscope/stage/backpropagation_percent"} <= lines[0].keys()
    read = run_in("others", PROGRAMS / "tensorboard_scalars.py", tmp_path / "logs")
    (series,) = json.loads(read.stdout.splitlines()[-1]).values()
    inference = [value for _, _, value in series["train/rlscope/stage/inference_percent"]]
    assert inference == pytest.approx([line["rlscope/stage/inference_percent"] for line in lines[:3]], rel=1e-6)


def test_without_a_recording_it_trains(tmp_path: Path) -> None:
    folder = {"TENSORBOARD_LOGGING_DIR": str(tmp_path / "logs"), "HF_HUB_OFFLINE": "1"}
    plain = run_in("pytorch", PROGRAMS / "trl_logged.py", **folder)
    assert plain.returncode == 0 and json.loads(plain.stdout.splitlines()[-1])["windows"] == []
    assert plain.stderr.count("no shares are logged: this process is not recorded") == 1
