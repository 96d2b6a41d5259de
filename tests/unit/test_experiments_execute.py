"""One run: its environment, its log, its manifest; when it is complete, when it has failed, what it leaves behind."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from processes import is_alive

from experiments import CHECKOUT
from experiments.harness import execute as module
from experiments.harness.execute import (
    DamagedManifestError,
    Run,
    RunFailedError,
    RunTooSlowError,
    command_of,
    completed,
    execute,
    variables_of,
)
from experiments.harness.interpreters import built_from_of, has_package, packages_of
from rlscope.build import BUILT_FROM


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run that leaves a file in its trace, without a recorder."""
    script = tmp_path / "train.py"
    script.write_text("import sys, pathlib; pathlib.Path(sys.argv[1]).open('a').write('x'); print('trained')")
    monkeypatch.setattr(module, "command_of", lambda run: [sys.executable, str(run.script), *run.arguments])
    return Run(
        "walker/ppo/repetition_0",
        Path(sys.executable),
        script,
        (str(tmp_path / "calls"),),
        1,
        2,
        threads=1,
        device="cpu",
        time_limit_s=60,
    )


def calls(run: Run) -> int:
    return len(Path(run.arguments[0]).read_text())


def test_a_run_leaves_its_log_and_its_manifest(tmp_path: Path, run: Run) -> None:
    execution = execute(run, tmp_path / "out")
    assert not execution.was_complete
    assert (tmp_path / "out" / "log.txt").read_text() == "trained\n"
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["complete"] is True
    assert manifest["exit_status"] == 0
    assert manifest["environment"]["OMP_NUM_THREADS"] == "1"
    assert manifest["description"]["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert {"command", "seconds", "started", "machine"} <= set(manifest)


def test_a_run_that_has_ended_well_is_complete(tmp_path: Path, run: Run) -> None:
    assert completed(run, tmp_path / "out") is None
    execute(run, tmp_path / "out")
    execution = completed(run, tmp_path / "out")
    assert execution
    assert execution.was_complete


def test_a_run_that_is_described_otherwise_is_not_complete(tmp_path: Path, run: Run) -> None:
    execute(run, tmp_path / "out")
    assert completed(dataclasses.replace(run, max_iterations=3), tmp_path / "out") is None
    run.script.write_text(run.script.read_text() + "\n")
    assert completed(run, tmp_path / "out") is None


@pytest.mark.parametrize("text", ["", '{"complete": tr', "[]", '{"complete": true}', "{}", "\ud800"])
def test_a_damaged_manifest_is_no_complete_run_and_is_named(tmp_path: Path, run: Run, text: str) -> None:
    execute(run, tmp_path / "out")
    (tmp_path / "out" / "manifest.json").write_bytes(text.encode(errors="surrogatepass"))
    with pytest.raises(DamagedManifestError, match=r"out/manifest\.json: expected the manifest of a run") as raised:
        completed(run, tmp_path / "out")
    assert "\n" not in str(raised.value)


def test_a_failed_run_is_tried_again_and_shows_the_end_of_its_log(tmp_path: Path, run: Run) -> None:
    run.script.write_text(
        "import sys, pathlib; pathlib.Path(sys.argv[1]).open('a').write('x')\n"
        "print('line\\n' * 50); raise SystemExit('no such environment')"
    )
    with pytest.raises(RunFailedError) as raised:
        execute(run, tmp_path / "out")
    message = str(raised.value)
    assert "run walker/ppo/repetition_0 exited with status 1 (limit 60 s, attempt 2)" in message
    assert message.endswith("no such environment")
    assert len(message.splitlines()) == 21
    assert calls(run) == 2
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["complete"] is False
    assert completed(run, tmp_path / "out") is None


def test_a_run_may_end_well_at_the_second_attempt(tmp_path: Path, run: Run) -> None:
    run.script.write_text(run.script.read_text() + f"; sys.exit(not pathlib.Path({str(tmp_path / 'out')!r}).exists())")
    assert execute(run, tmp_path / "out").attempts == 2
    assert completed(run, tmp_path / "out")


def test_a_run_over_its_time_limit_has_failed(tmp_path: Path, run: Run) -> None:
    run.script.write_text("import time; time.sleep(600)")
    with pytest.raises(RunTooSlowError, match=r"was ended by SIGTERM \(limit 200 ms, attempt 1\)"):
        execute(dataclasses.replace(run, time_limit_s=0.2), tmp_path / "out")


def test_a_run_replaces_what_an_earlier_one_left_only_when_it_has_ended(tmp_path: Path, run: Run) -> None:
    execute(run, tmp_path / "out")
    abandoned = tmp_path / ".out.0000"  # as a runner leaves it that was killed
    abandoned.mkdir()
    seen = tmp_path / "seen"
    run.script.write_text(f"import os; open({str(seen)!r}, 'w').write(' '.join(os.listdir({str(tmp_path / 'out')!r})))")
    execute(run, tmp_path / "out")
    assert set(seen.read_text().split()) == {"log.txt", "manifest.json"}
    assert not list(tmp_path.glob(".out.*"))


def pid_in(path: Path) -> int:
    """The process id that a file gets."""
    deadline = time.monotonic() + 30
    while not (path.exists() and path.read_text().endswith("\n")):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return int(path.read_text())


def assert_ends(pid: int) -> None:
    deadline = time.monotonic() + 30
    while is_alive(pid):
        assert time.monotonic() < deadline, f"process {pid} goes on"
        time.sleep(0.02)


#: Starts a process that leaves its session and its parent, and writes down its id.
DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), file=open(sys.argv[1], "w"))
        time.sleep(600)
    os._exit(0)
"""


def test_nothing_that_a_run_has_started_outlives_it(tmp_path: Path, run: Run) -> None:
    run.script.write_text(DAEMON + "while not os.path.exists(sys.argv[1]): time.sleep(0.02)")
    execute(run, tmp_path / "out")
    assert not is_alive(int(Path(run.arguments[0]).read_text()))


@pytest.mark.parametrize("ended", ["caller", "supervisor"])
def test_a_run_ends_with_who_started_it(tmp_path: Path, ended: str) -> None:
    written = tmp_path / "pid"
    sleeper = [sys.executable, "-c", "import os, time; print(os.getpid(), flush=True); time.sleep(600)"]
    command = [sys.executable, "-I", str(module.SUPERVISOR), "", *sleeper]
    # Ray ends the children of a worker, and then it, with SIGKILL.
    popen = f"Popen({command}, stdin=PIPE, stdout=open({str(written)!r}, 'w'))"
    code = f"from subprocess import PIPE, Popen; {popen}.wait()"
    caller = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    process = pid_in(written)
    (supervisor,) = psutil.Process(caller.pid).children()
    if ended == "caller":
        caller.kill()
    else:
        supervisor.kill()
    caller.wait()
    assert_ends(process)
    assert_ends(supervisor.pid)


def test_a_run_uses_the_cores_that_it_is_given(tmp_path: Path, run: Run) -> None:
    run.script.write_text("import os; print(*os.sched_getaffinity(0))")
    core = max(os.sched_getaffinity(0))
    execute(run, tmp_path / "out", cores=[core], node="red")
    assert (tmp_path / "out" / "log.txt").read_text() == f"{core}\n"
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert (manifest["cores"], manifest["node"]) == ([core], "red")


def test_a_run_gets_the_signals_that_its_caller_blocks(tmp_path: Path, run: Run) -> None:
    run.script.write_text("import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []))")
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        execute(run, tmp_path / "out")
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    assert (tmp_path / "out" / "log.txt").read_text() == "set()\n"


@pytest.mark.parametrize("status", [0, 3, -signal.SIGSEGV, -signal.SIGKILL])
def test_a_supervisor_ends_as_the_command_ended(status: int) -> None:
    end = f"sys.exit({status})" if status >= 0 else f"os.kill(os.getpid(), {-status})"
    command = [sys.executable, "-c", f"import os, sys; {end}"]
    process = subprocess.Popen([sys.executable, "-I", str(module.SUPERVISOR), "", *command], stdin=subprocess.PIPE)
    assert process.wait() == status
    assert process.stdin
    process.stdin.close()


def test_nothing_unstated_reaches_the_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    variables = variables_of(dataclasses.replace(run, threads=2))
    assert "PYTHONPATH" not in variables
    assert variables["OMP_NUM_THREADS"] == "2"
    assert variables["CUDA_VISIBLE_DEVICES"] == ""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    assert variables_of(run)["CUDA_VISIBLE_DEVICES"] == ""
    assert variables_of(dataclasses.replace(run, device="cuda"))["CUDA_VISIBLE_DEVICES"] == "3"


@pytest.mark.parametrize(("given_by", "is_there"), [("PYTHONPATH", False), ("Python itself", True)])
def test_what_only_the_variable_gives_is_not_there_for_runs(given_by: str, is_there: bool, tmp_path: Path) -> None:
    (tmp_path / "made_up.py").touch()
    by_itself = f"import sys; sys.path.append({str(tmp_path)!r})" if is_there else ""
    ask = "from experiments.harness.interpreters import python_of; print(python_of(None, 'made_up') is not None)"
    variables = os.environ | ({} if is_there else {"PYTHONPATH": str(tmp_path)})
    command = [sys.executable, "-c", f"{by_itself}\n{ask}"]
    found = subprocess.run(command, cwd=CHECKOUT, env=variables, capture_output=True, text=True, check=True)
    assert found.stdout == f"{is_there}\n", given_by


def test_the_command_records_the_window_of_the_run(tmp_path: Path) -> None:
    run = Run(
        "name",
        Path("python"),
        tmp_path / "train.py",
        ("--algo", "ppo"),
        3,
        10,
        threads=1,
        device="cpu",
        time_limit_s=60,
    )
    command = command_of(run)
    assert command[:4] == ["python", "-m", "rlscope", "record"]
    assert command[command.index("--delay-iterations") + 1] == "3"
    assert command[command.index("--max-iterations") + 1] == "10"
    assert command[command.index("--") + 1 :] == ["python", str(tmp_path / "train.py"), "--algo", "ppo"]


def test_an_environment_has_the_packages_of_one_that_it_names(tmp_path: Path) -> None:
    own, other = (tmp_path / name / "lib" / "python3.11" / "site-packages" for name in ("own", "other"))
    for packages, name in ((own, "rsl_rl"), (other, "rlscope")):
        (packages / name).mkdir(parents=True)
        (packages / name / "__init__.py").touch()
    (other / "rlscope" / BUILT_FROM).write_text('{"recorder_sha256": "0123"}')
    python = tmp_path / "own" / "bin" / "python"
    assert not has_package(python, "rlscope")
    packages_of.cache_clear()
    (own / "of_other.pth").write_text(f"import sys\n\n{other}\n/no/such/folder\n")
    assert packages_of(python) == [str(own), str(other)]
    assert has_package(python, "rsl_rl") and has_package(python, "rlscope")
    assert built_from_of(python)["recorder_sha256"] == "0123"
