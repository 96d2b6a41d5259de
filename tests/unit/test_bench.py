"""`rlscope bench`: which commands run how often and in which order, what is kept of them, and what is refused."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from recording import call_here, environment

from rlscope.trace.reader import open_trace

RLSCOPE = Path(sys.executable).with_name("rlscope")
#: Notes its argument, so that the order of runs is known.
NOTE = "echo {name} >> order"
TRAIN = """
import rlscope
for number in range(4):
    with rlscope.operation("simulation"):
        pass
    rlscope.report_progress(timesteps=number)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def bench(*words: object) -> "subprocess.CompletedProcess[str]":
    """What the installed command does."""
    command = [str(RLSCOPE), "bench", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment())


def order() -> str:
    return "".join(Path("order").read_text().split())


def lengths(folder: str) -> list[int]:
    return [run["length_ns"] for run in json.loads(Path(folder, "times.json").read_text())["runs"]]


def test_commands_run_in_turns_and_each_round_in_the_other_order() -> None:
    a, b = (NOTE.format(name=name) for name in "ab")
    finished = bench("--time", "-n", 3, a, b)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert order() == "abbaab"
    assert [len(lengths(f"bench/{side}")) for side in "AB"] == [3, 3]
    assert finished.stdout.startswith(f"bench/A: {a}\nbench/B: {b}\n3 runs: ")
    assert "in 3 runs against 3" in " ".join(finished.stdout.split())


def test_rounds_to_warm_up_do_not_count() -> None:
    bench("--time", "-n", 2, "-w", 1, NOTE.format(name="a"), NOTE.format(name="b"))
    assert order() == "baabba"
    assert [len(lengths(f"bench/{side}")) for side in "AB"] == [2, 2]


def test_what_stands_behind_dashes_is_one_command_with_its_own_options() -> None:
    sleeping = sys.executable, "-c", "import time; time.sleep(0.05)", "-n", "--"
    finished = bench("--time", "-n", 2, "-o", "runs", "--", *sleeping)
    assert finished.returncode == 0, finished.stderr
    assert len(lengths("runs")) == 2 and min(lengths("runs")) > 50_000_000
    assert "2 runs: " in finished.stdout and "3 runs or more would show how runs differ" in finished.stdout


def test_a_recorded_bench_leaves_traces_that_compare_reads() -> None:
    Path("train.py").write_text(TRAIN)
    finished = bench("-n", 3, "-o", "runs", f"{sys.executable} train.py", "--", sys.executable, "train.py")
    assert finished.returncode == 0, finished.stderr
    assert [len(open_trace(f"runs/{side}/run-{number}").processes) for side in "AB" for number in (1, 2, 3)] == [1] * 6
    assert Path("runs/A/run-1.txt").read_text().startswith("rlscope: ")
    compared = json.loads(call_here("compare", "runs/A", "runs/B", "--json").stdout)["comparisons"][0]
    assert [len(compared[side]["runs"]) for side in ("base", "other")] == [3, 3]
    assert "simulation" in {row["stage"] for row in compared["rows"]}
    assert "Stages per iteration" in finished.stdout


def test_it_ends_at_the_first_run_that_fails() -> None:
    finished = bench("--time", "-n", 3, "echo ran >> order; echo bad news; exit 7", "true")
    assert finished.returncode == 2
    assert "run-1 of echo ran >> order; echo bad news; exit 7 ended with status 7" in finished.stderr
    assert order() == "ran" and Path("bench/A/run-1.txt").read_text() == "bad news\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "a command to run was expected, but none was given"),
        (("python", "train.py"), "each argument is a whole command in quotes, but 'train.py' is none; write -- before"),
        (("",), "each argument is a whole command in quotes, but '' is none"),
        (("--", "no-such-program"), "cannot run no-such-program: No such file or directory"),
        (("-o", "full", "true"), "a new or empty folder was expected at full, but it holds something"),
        (("true",) * 27, "at most 26 commands were expected, but 27 were given"),
    ],
    ids=["nothing", "no quotes", "empty", "no program", "not empty", "too many"],
)
def test_what_is_refused(words: tuple[str, ...], said: str) -> None:
    Path("full").mkdir()
    Path("full", "file").touch()
    finished = bench("--time", *words)
    assert (finished.returncode, finished.stdout) == (2, "") and said in finished.stderr
    assert len(finished.stderr.splitlines()) == 1


def test_it_does_not_run_inside_a_recording() -> None:
    command = [str(RLSCOPE), "bench", "--time", "true"]
    variables = environment() | {"RLSCOPE_TRACE": os.devnull}
    finished = subprocess.run(command, capture_output=True, text=True, check=False, env=variables)
    assert finished.returncode == 2 and "this runs inside `rlscope record`" in finished.stderr


def test_an_earlier_bench_is_replaced_with_force_and_nothing_else() -> None:
    words = "--time", "-o", "runs", "true", "true"
    assert bench("-n", 3, *words).returncode == 0
    refused = bench("-n", 2, *words)
    assert refused.returncode == 2 and "--force" in refused.stderr and len(lengths("runs/A")) == 3
    assert bench("-n", 2, "--force", *words).returncode == 0
    assert [len(lengths(f"runs/{side}")) for side in "AB"] == [2, 2]
    assert sorted(path.name for path in Path("runs/A").iterdir()) == ["run-1.txt", "run-2.txt", "times.json"]
    assert bench("-n", 2, "--force", "-o", "runs", "--", "no-such-program").returncode == 2
    Path("runs/B/notes.md").write_text("mine")
    refused = bench("-n", 1, "--force", *words)
    assert refused.returncode == 2 and "holds what rlscope did not write: notes.md" in refused.stderr
    assert [len(lengths(f"runs/{side}")) for side in "AB"] == [2, 2]


def test_recorded_runs_are_replaced_with_force() -> None:
    Path("train.py").write_text(TRAIN)
    for runs in (2, 1):
        finished = bench("-n", runs, "--force", "-o", "runs", "--", sys.executable, "train.py")
        assert finished.returncode == 0, finished.stderr
    assert sorted(path.name for path in Path("runs").iterdir()) == ["run-1", "run-1.txt"]
    Path("runs/run-1/mine").touch()
    assert bench("--force", "-o", "runs", "--", sys.executable, "train.py").returncode == 2
    assert len(open_trace("runs/run-1").processes) == 1


def test_a_run_finds_signals_as_without_a_bench() -> None:
    code = (
        "import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.getsignal(signal.SIGPIPE), "
        "signal.getsignal(signal.SIGTERM))"
    )
    Path("run.py").write_text(code)
    plain = subprocess.run([sys.executable, "run.py"], capture_output=True, text=True, check=True)
    assert bench("--time", "-n", 1, "--", sys.executable, "run.py").returncode == 0
    assert Path("bench/run-1.txt").read_text() == plain.stdout
