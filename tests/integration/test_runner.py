"""The runner on Ray, and what may happen to it: a node is lost, it is interrupted, runs fail, the disk is full."""

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from processes import is_alive, until
from small_study import SWEEP, Matrix

ROOT = Path(__file__).resolve().parents[2]


def free_port(address: str) -> int:
    with socket.socket() as found:
        found.bind((address, 0))
        return int(found.getsockname()[1])


def answers(address: str) -> bool:
    host, port = address.split(":")
    with socket.socket() as client:
        return client.connect_ex((host, int(port))) == 0


@contextmanager
def two_nodes() -> Iterator[tuple[str, dict[str, str], psutil.Process]]:
    """A cluster on this machine: its address, the environment of who uses it, and the node named blue."""
    # Below /tmp, as the paths of Ray's sockets may have 107 characters.
    folder = Path(tempfile.mkdtemp(prefix="rls", dir="/tmp"))
    secret = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_USAGE_STATS_ENABLED": "0"}
    secret["RAY_worker_niceness"] = "0"
    address = f"127.0.0.2:{free_port('127.0.0.2')}"
    ray = [str(Path(sys.executable).with_name("ray")), "start", "--block", "--object-store-memory=100000000"]
    head = [*ray, "--head", "--node-ip-address=127.0.0.2", f"--port={address.split(':')[1]}", "--node-name=red"]
    head += ["--num-cpus=1", "--include-dashboard=false", f"--temp-dir={folder / 'r'}"]
    blue = [*ray, f"--address={address}", "--node-ip-address=127.0.0.3", "--node-name=blue", "--num-cpus=2"]
    started: list[subprocess.Popen[bytes]] = []
    try:
        for command in (head, blue):
            log = folder / f"{len(started)}.log"
            with log.open("w") as output:
                environment = {**os.environ, **secret}
                started.append(subprocess.Popen(command, env=environment, stdout=output, stderr=output))
            until(lambda: answers(address))
        yield address, secret, psutil.Process(started[1].pid)
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(30)
        shutil.rmtree(folder)


def kill_node(node: psutil.Process) -> None:
    """Ends everything that Ray has started there at once; what runs on the node by then is left to itself."""
    family = [node, *node.children(recursive=True)]
    supervisors = [process for process in family if any("supervisor.py" in word for word in process.cmdline())]
    runs = {process for supervisor in supervisors for process in [supervisor, *supervisor.children(recursive=True)]}
    for process in family:
        if process not in runs:
            process.kill()


@pytest.mark.slow
def test_two_nodes_share_a_sweep_and_a_lost_one_costs_only_what_ran_there(tmp_path: Path) -> None:
    workloads = {name: f"loop.run('{name}', 2 * SECONDS)" for name in ("one", "two")}
    matrix = Matrix(tmp_path, workloads, repetitions=3)

    def runs_on(node: psutil.Process) -> bool:
        descendants = {process.pid for process in node.children(recursive=True)}
        return any(pid in descendants for _, pid in matrix.started())

    with two_nodes() as (address, environment, blue):
        sweep = matrix.sweep(address, environment)
        until(lambda: {manifest["node"] for manifest in matrix.manifests().values()} == {"red", "blue"})
        until(lambda: runs_on(blue))
        before = matrix.manifests()
        kill_node(blue)
        started = [pid for _, pid in matrix.started()]
        _, said = sweep.communicate(timeout=120)
    assert sweep.returncode == 0, said
    after = matrix.manifests()
    assert set(after) == matrix.all_runs("one", "two")
    (repeated,) = (run for run, count in matrix.counts().items() if count > 1)
    assert repeated not in before
    assert after[repeated]["node"] == "red"
    assert f"study/E/{repeated.replace('/', '/repetition_')}: lost on node blue (" in said
    assert all(after[run] == manifest for run, manifest in before.items())
    assert not any(map(is_alive, started))
    assert not list(matrix.output.glob("runs/E/*/.*"))


@pytest.mark.slow
def test_an_interrupted_sweep_goes_on_where_it_was(tmp_path: Path) -> None:
    matrix = Matrix(tmp_path, {"one": "loop.run('one', SECONDS)", "two": "loop.run('two', SECONDS)"}, repetitions=2)
    sweep = matrix.sweep("ray")
    until(lambda: len(matrix.started()) >= 2)
    sweep.send_signal(signal.SIGINT)
    _, said = sweep.communicate(timeout=60)
    assert sweep.returncode == 130, said
    assert said.splitlines()[-1].startswith("rlscope: interrupted. The same command goes on")
    assert "Traceback" not in said
    assert not any(is_alive(pid) for _, pid in matrix.started())
    assert not list(matrix.output.glob("runs/E/*/.*"))
    complete = set(matrix.manifests())
    assert 0 < len(complete) < 4

    # One of the complete ones is damaged meanwhile.
    (damaged, *kept) = sorted(complete)
    name, repetition = damaged.split("/")
    manifest = matrix.output / "runs" / "E" / name / f"repetition_{repetition}" / "manifest.json"
    manifest.write_text(manifest.read_text()[:100])
    before = matrix.counts()
    sweep = matrix.sweep("ray")
    _, said = sweep.communicate(timeout=60)
    assert sweep.returncode == 0, said
    assert f"{manifest}: expected the manifest of a run" in said
    assert set(matrix.manifests()) == matrix.all_runs("one", "two")
    assert matrix.counts() - before == Counter(matrix.all_runs("one", "two") - set(kept))


def test_a_killed_sweep_leaves_nothing_running_and_goes_on(tmp_path: Path) -> None:
    code = "import pathlib\nis_quick = pathlib.Path(__file__).with_name('quick').exists()\n"
    matrix = Matrix(tmp_path, {"one": f"{code}loop.run('one', SECONDS if is_quick else 15 * SECONDS)"}, repetitions=1)
    sweep = matrix.sweep("ray")
    until(lambda: bool(matrix.started()))
    sweep.kill()
    sweep.communicate()
    until(lambda: not any(is_alive(pid) for _, pid in matrix.started()), seconds=30)
    (matrix.folder / "quick").touch()
    again = matrix.sweep("in-turn")
    _, said = again.communicate(timeout=60)
    assert again.returncode == 0, said
    assert "complete already" not in said  # the killed one was ended in its middle
    assert matrix.counts() == {"one/0": 2}
    assert not list(matrix.output.glob("runs/E/*/.*"))
    for left in Path("/tmp").glob(f"rlscope-ray-{sweep.pid}-*"):  # nobody was there to remove it
        shutil.rmtree(left)


@pytest.mark.slow
def test_runs_that_hang_or_crash_are_told_and_a_second_sweep_has_to_wait(tmp_path: Path) -> None:
    workloads = {
        "good": "loop.run('good', SECONDS)",
        "hangs": "loop.run('hangs', 600 * SECONDS)",
        "crashes": "loop.run('crashes', SECONDS / 10)\nraise SystemExit('no such environment')",
        "faults": "loop.run('faults', SECONDS / 10)\nimport os, signal\nos.kill(os.getpid(), signal.SIGSEGV)",
    }
    matrix = Matrix(tmp_path, workloads, repetitions=2)
    sweep = matrix.sweep("ray")
    until(lambda: bool(matrix.started()))
    second = matrix.sweep("ray")
    _, said = second.communicate(timeout=60)
    assert second.returncode == 2
    assert f"found process {sweep.pid} on " in said
    assert said.count("\n") == 1

    _, said = sweep.communicate(timeout=120)
    assert sweep.returncode == 3
    assert set(matrix.manifests()) == matrix.all_runs("good")
    assert "was ended by SIGTERM (limit 20 s, attempt 1). The end of its log" in said
    assert "exited with status 1 (limit 20 s, attempt 2). The end of its log" in said
    assert "    no such environment" in said
    assert "was ended by SIGSEGV (limit 20 s, attempt 2)" in said
    # One that crashes is tried again, one that hangs is not; a second repetition of either is not tried.
    attempts = {name.split("/")[0]: count for name, count in matrix.counts().items()}
    assert attempts == {"good": 1, "hangs": 1, "crashes": 2, "faults": 2}
    assert not any(is_alive(pid) for _, pid in matrix.started())


@pytest.mark.slow
def test_changed_hyper_parameters_repeat_only_the_runs_that_use_them(tmp_path: Path) -> None:
    matrix = Matrix(
        tmp_path, {"td3": "loop.run('td3', SECONDS / 10)", "ddpg": "loop.run('ddpg', SECONDS / 10)"}, repetitions=1
    )
    assert matrix.sweep("in-turn").wait(60) == 0
    (matrix.folder / "td3_parameters.py").write_text("SECONDS = 2\n")
    assert matrix.sweep("in-turn").wait(60) == 0
    assert matrix.counts() == {"td3/0": 2, "ddpg/0": 1}


def test_a_full_disk_is_one_line_and_the_rest_goes_on_when_there_is_room(tmp_path: Path) -> None:
    fill = "open('weights', 'wb').write(bytes(12 << 20))\nloop.run('one', SECONDS / 10)"
    matrix = Matrix(tmp_path, {"one": fill}, repetitions=3)
    matrix.output.mkdir()
    sweep = f"{sys.executable} {SWEEP} {matrix.folder} {matrix.output} in-turn"
    # Two runs fill the disk; what they have left is moved away to make room.
    script = f"""
mount -t tmpfs -o size=60m tmpfs {matrix.output} || exit 99
{sweep}; echo status $?
ls -A {matrix.output}/runs/E/one
find {matrix.output} -name weights -delete
{sweep}; echo status $?
ls -A {matrix.output}/runs/E/one
"""
    finished = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
    )
    if finished.returncode == 99 or "unshare failed" in finished.stderr:
        pytest.skip(f"a user may not mount a disk here: {finished.stderr}")
    repetitions = [f"repetition_{number}" for number in range(3)]
    assert finished.stdout.splitlines() == [
        *("status 2", *repetitions[:2]),
        *(f"wrote {matrix.output / 'index.html'}", "status 0", *repetitions),
    ]
    (line,) = [line for line in finished.stderr.splitlines() if "error" in line]
    assert "MiB of free disk below" in line
    assert "Free some, then give the same command again" in line
    assert matrix.counts() == {"one/0": 1, "one/1": 1, "one/2": 2}


@pytest.mark.slow
def test_a_dry_run_prints_commands_that_can_be_pasted(tmp_path: Path) -> None:
    study = [sys.executable, "-m", "experiments.algorithm_choice.run", "--budget", "smoke", "--output", str(tmp_path)]
    finished = subprocess.run([*study, "--dry-run"], cwd=ROOT, capture_output=True, text=True, check=True)
    *commands, summary = finished.stdout.splitlines()
    assert summary.startswith("# ") and "one after the other: about" in summary
    assert not list(tmp_path.iterdir())
    place = next(number for number, line in enumerate(commands) if line.startswith("# ") and "/A2C/" in line)
    subprocess.run(["bash", "-c", commands[place + 1]], check=True, env={"PATH": os.environ["PATH"]})
    (trace,) = tmp_path.glob("runs/*/A2C/repetition_0/trace")
    assert json.loads((trace / "manifest.json").read_text())["complete"]


def test_a_dry_run_of_everything_needs_no_ray(tmp_path: Path) -> None:
    (tmp_path / "ray.py").write_text("raise ImportError('there is no Ray')")
    everything = [sys.executable, str(ROOT / "scripts" / "artifacts.py"), "--output", str(tmp_path / "output")]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    options = ["--dry-run", "--repetitions", "1"]
    dry = subprocess.run([*everything, *options], env=environment, capture_output=True, text=True, check=True)
    commands = [line for line in dry.stdout.splitlines() if not line.startswith("#")]
    assert all("taskset --cpu-list " in command for command in commands)
    record_themselves = ("/overhead_twins.py ", "/collect.py ")
    assert all(" -m rlscope record " in command or any(map(command.count, record_themselves)) for command in commands)
    places = [line for line in dry.stdout.splitlines() if line.startswith("# ") and "slot 0 (cores " in line]
    assert len(commands) >= len(places) > 0
    assert {line.split("/")[0] for line in places} >= {"# algorithm_choice"}
    assert not (tmp_path / "output").exists()
    real = subprocess.run([*everything, "--budget", "smoke"], env=environment, capture_output=True, text=True)
    assert real.returncode == 2
    assert "found: there is no Ray. Install it with `make setup`" in real.stderr
    assert real.stderr.count("\n") == 1
