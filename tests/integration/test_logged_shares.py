"""The callback of Stable-Baselines3: what it logs while it trains is what the finished trace has in these windows."""

import json
from pathlib import Path

import pandas as pd
import pytest
from logged_windows import percentages_of, settled
from recording import Recording, record, run_plain


def trained(algorithm: str, folder: Path) -> tuple[Recording, list[tuple[int, int]], pd.DataFrame]:
    recording = record(folder / "trace", "logged_shares.py", algorithm, folder / "log")
    assert recording.returncode == 0, recording.stderr
    windows = [tuple(window) for window in recording.printed]
    lines = pd.read_csv(folder / "log" / "progress.csv")
    return recording, windows, lines[[name for name in lines if name.startswith("rlscope/")]].dropna(how="all")


def test_each_line_has_what_analyze_finds_in_its_window(tmp_path: Path) -> None:
    recording, windows, lines = trained("ppo", tmp_path)
    assert len(lines) == len(windows) == 5
    for window, (_, line) in zip(windows, lines.iterrows(), strict=True):
        found = line.dropna().to_dict()
        expected = percentages_of(recording.main_file, window)
        logged = {name: value for name, value in found.items() if value}
        assert settled(logged) == pytest.approx(settled(expected), abs=1e-6)
        assert sum(value for name, value in found.items() if "/stage/" in name) == pytest.approx(100)
        assert sum(value for name, value in found.items() if "/layer/" in name) == pytest.approx(100)
    assert {"rlscope/stage/simulation_percent", "rlscope/layer/backend_percent"} <= set(lines)
    assert lines["rlscope/phase/evaluation_percent"].max() > 0
    # Each window begins where the one before it ended, and looking is an operation of its own.
    assert [start for start, _ in windows[1:]] == [end for _, end in windows[:-1]]
    assert recording.seconds(operation="log_shares") > 0
    assert recording.analysis["complete"] and recording.analysis["misnested_operations"] == 0


@pytest.mark.slow
def test_a_line_has_all_rollouts_since_the_one_before_it(tmp_path: Path) -> None:
    """Rollouts of TD3 are single steps, here 450 of them; a line is written as an episode of 200 steps ends."""
    recording, windows, lines = trained("td3", tmp_path)
    assert (len(windows), len(lines)) == (450, 2)
    for (_, line), first, last in zip(lines.iterrows(), (0, 199), (199, 399), strict=True):
        expected = percentages_of(recording.main_file, (windows[first][0], windows[last - 1][1]))
        found = {name: value for name, value in line.items() if value}
        assert settled(found) == pytest.approx(settled(expected), abs=1e-6)


def test_without_a_recording_one_line_says_so_and_the_training_goes_on(tmp_path: Path) -> None:
    plain = run_plain("logged_shares.py", "ppo", tmp_path / "log")
    assert plain.returncode == 0 and json.loads(plain.stdout.splitlines()[-1]) == []
    said = [line for line in plain.stderr.splitlines() if line.startswith("rlscope: ")]
    assert said == [
        "rlscope: from now on no shares are logged: this process is not recorded; start it with "
        "`rlscope record -- python ...`. The training goes on."
    ]
    assert pd.read_csv(tmp_path / "log" / "progress.csv")["time/iterations"].max() == 5


def test_a_recording_that_begins_late_and_ends_early(tmp_path: Path) -> None:
    options = ("--delay-iterations", "2", "--max-iterations", "2")
    recording = record(tmp_path / "trace", "logged_shares.py", "ppo", tmp_path / "log", options=options)
    assert recording.returncode == 0
    assert recording.stderr.count("no shares are logged: the recording of this process has ended") == 1
    lines = pd.read_csv(tmp_path / "log" / "progress.csv").dropna(subset="time/iterations")
    known = lines.dropna(subset="rlscope/stage/simulation_percent")
    assert lines["time/iterations"].tolist() == [1, 2, 3, 4, 5] and known["time/iterations"].tolist() == [3, 4]


def test_looking_takes_little_of_the_time(tmp_path: Path) -> None:
    """The first look is followed by a pause of so many times as long, so that a second one at once finds nothing."""
    code = """
from rlscope.callbacks import live_shares
live_shares.PAUSE = 10**6
shares = live_shares.LiveShares()
print(bool(shares.look()), shares.look())
"""
    (tmp_path / "program.py").write_text(code)
    assert record(tmp_path / "trace", tmp_path / "program.py").stdout == "True {}\n"


def test_importing_the_callbacks_imports_no_library(tmp_path: Path) -> None:
    code = "import sys, rlscope.callbacks; print({'torch', 'stable_baselines3', 'transformers'} & set(sys.modules))"
    (tmp_path / "program.py").write_text(code)
    assert run_plain(tmp_path / "program.py").stdout == "set()\n"
