"""A recording on three machines made of namespaces, whose clocks are five minutes apart."""

import json
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from recording import environment, record, rlscope

from rlscope.analysis.machines import MEASURED, OWN_CLOCK, REFERENCE
from rlscope.analysis.sweep import ProcessSweep, TraceSweep, sweep_trace
from rlscope.trace.reader import open_trace

MACHINES = Path(__file__).resolve().parents[1] / "machines"
AHEAD_NS = 300 * 10**9
STARTED_EARLIER_NS = 100_000 * 10**9
NAMESPACES = ["unshare", "--mount", "--uts", "--net", "--time", "--monotonic", "1", "--fork"]


def can_make_machines() -> bool:
    """Whether this process may make namespaces and connect them, and a library can be compiled for them."""
    if not all(shutil.which(tool) for tool in ("cc", "ip", "unshare", "hostname")):
        return False
    steps = (
        "mount --bind /dev/null /proc/sys/kernel/random/boot_id",
        "hostname near",
        "ip link add cable type veth peer name near",
    )
    return subprocess.run([*NAMESPACES, "sh", "-c", " && ".join(steps)], capture_output=True).returncode == 0


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recorded run on this machine, on one that a cable leads to, and on one that it does not."""
    if not can_make_machines():
        pytest.skip("needs a compiler, and the right to make namespaces")
    directory = tmp_path_factory.mktemp("machines")
    library = directory / "shifted_clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, MACHINES / "shifted_clock.c", "-ldl"], check=True)
    for number, name in enumerate(("near", "far"), start=1):
        (directory / f"{name}.boot_id").write_text(f"{number:08}-0000-4000-8000-000000000000\n")
    command: list[str | Path] = [
        "unshare",
        "--net",
        "sh",
        MACHINES / "three.sh",
        directory,
        sys.executable,
        "--clock-port",
        "0",
    ]
    finished = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=100)
    assert finished.returncode == 0, finished.stderr
    return directory / "trace"


@pytest.fixture(scope="module")
def swept(trace: Path) -> TraceSweep:
    return sweep_trace(open_trace(trace))


def processes_on(swept: TraceSweep, machine: str) -> list[ProcessSweep]:
    return [process for process in swept.processes if process.found.properties["hostname"] == machine]


def test_machines_are_told_apart(swept: TraceSweep) -> None:
    here = socket.gethostname()
    placed = {machine.name: machine.placed for machine in swept.machines}
    assert placed == {here: REFERENCE, "near": MEASURED, "far": OWN_CLOCK}
    assert [swept.main] == processes_on(swept, here)


def test_offset_is_right_within_its_error(swept: TraceSweep) -> None:
    clocks = [process.found.properties["clock"] for process in processes_on(swept, "near")]
    exchanges = [exchange for clock in clocks for exchange in clock["exchanges"]]
    assert len(exchanges) >= 2  # of four, as a busy machine may answer too late
    for exchange in exchanges:
        # Both machines are this one, whose clock one of them sees with an offset that the kernel adds.
        assert abs(exchange["offset_ns"] + STARTED_EARLIER_NS) <= exchange["error_ns"]
    near = next(machine for machine in swept.machines if machine.name == "near")
    assert near.ahead_ns is not None and near.error_ns is not None
    # The two clocks of a machine are read one after the other, here with a call of the preloaded library between.
    assert abs(near.ahead_ns - AHEAD_NS) <= near.error_ns + 1_000_000


def test_measured_machine_is_where_it_belongs(swept: TraceSweep, trace: Path) -> None:
    manifest = json.loads((trace / "manifest.json").read_text())
    far = processes_on(swept, "far")
    for process in swept.processes:
        run = manifest["start"]["realtime_ns"], manifest["end"]["realtime_ns"]
        is_inside = run[0] <= process.start_ns <= process.end_ns <= run[1]
        assert is_inside == (process not in far)


def test_asking_leaves_no_calls_in_the_trace(swept: TraceSweep) -> None:
    calls = [call for process in swept.processes for call in process.found.crossings]
    assert [call for call in calls if "socket" in call] == []


def test_what_is_said(trace: Path) -> None:
    shown = rlscope("inspect", trace).stdout
    assert "the clock of machine far was not measured (processes: 1, 1 asked for the time and had no answer)" in shown
    assert "machine near: its clock is 300 s ahead of" in shown


def test_answering_changes_no_signal_and_leaves_no_port(tmp_path: Path) -> None:
    recording = record(
        tmp_path / "trace", "sh", "-c", "kill -TERM $PPID; exec sleep 100", options=("--clock-port", "0")
    )
    assert recording.returncode == -signal.SIGTERM
    port = json.loads((recording.trace / "config.json").read_text())["clock"]["port"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("", port))
