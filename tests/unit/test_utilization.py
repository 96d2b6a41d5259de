"""What the machine reported: sampled beside a command, read back, averaged, and drawn."""

import errno
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from processes import until

from rlscope.analysis.utilization import binned_utilization, mean_utilization, read_utilization
from rlscope.errors import TraceError
from rlscope.monitor import utilization_sampler as sampling
from rlscope.monitor.utilization_sampler import Devices, ProcessTree, SampleFile, UtilizationSampler, sampled
from rlscope.monitor.windows.run_windows import Windows
from rlscope.record.config import RecordConfig
from rlscope.record.run.trace_directory import begin_trace
from rlscope.trace.manifest import check_files, read_manifest
from rlscope.trace.utilization_file import HEADER, PROCESSES, UTILIZATION_NAME

S = 1_000_000_000


def write(directory: Path, *lines: str, end: str = "\n") -> Path:
    (directory / UTILIZATION_NAME).write_bytes(("\n".join([HEADER, *lines]) + end).encode())
    return directory


SAMPLES = (
    f"0,GPU-a,0.5,100,\n1,{PROCESSES},2.5,7\n{1 * S},GPU-a,0.2,".replace("100,", "100"),
    f"{4 * S},GPU-a,0.6,300",
    f"{2 * S},GPU-b,1,5",
)


def test_samples_are_read_by_source_and_time(tmp_path: Path) -> None:
    table = read_utilization(write(tmp_path, *SAMPLES))
    assert table["source"].tolist() == ["GPU-a"] * 3 + ["GPU-b", PROCESSES]
    assert table["monotonic_ns"].tolist() == [0, 1 * S, 4 * S, 2 * S, 1]
    assert table["utilization"].tolist() == [0.5, 0.2, 0.6, 1.0, 2.5]
    assert table["memory_bytes"].isna().tolist() == [False, True, False, False, False]
    assert table.attrs["damaged_lines"] == 0


@pytest.mark.parametrize(
    ("start_ns", "end_ns", "expected"),
    [
        (0, 4 * S, {"GPU-a": 0.5, "GPU-b": 1.0}),
        (1 * S, 4 * S, {"GPU-a": 0.6, "GPU-b": 1.0}),
        (S // 2, 2 * S, {"GPU-a": (0.5 * 0.2 + 1 * 0.6) / 1.5, "GPU-b": 1.0}),
        (5 * S, 9 * S, {}),
        (0, 0, {"GPU-a": 0.5}),
    ],
)
def test_the_mean_is_weighted_by_time(tmp_path: Path, start_ns: int, end_ns: int, expected: dict[str, float]) -> None:
    assert mean_utilization(read_utilization(write(tmp_path, *SAMPLES)), start_ns, end_ns) == pytest.approx(expected)


def test_only_the_end_of_the_file_is_read_if_that_is_asked_for(tmp_path: Path) -> None:
    """The line that the last bytes begin in is left out, and is no damage; of a shorter file all is read."""
    lines = [f"{second * S},GPU-a,0.5,100" for second in range(100)]
    write(tmp_path, *lines)
    some = read_utilization(tmp_path, last_bytes=2 * len(lines[-1]) + 10)
    assert (some["monotonic_ns"].tolist(), some.attrs["damaged_lines"]) == ([98 * S, 99 * S], 0)
    for last_bytes in (len("\n".join(lines)), 1 << 20):
        assert len(read_utilization(tmp_path, last_bytes)) in (99, 100)
    assert len(read_utilization(tmp_path, 1 << 20)) == 100


def test_nothing_sampled(tmp_path: Path) -> None:
    assert mean_utilization(read_utilization(tmp_path), 0, 9 * S) == {}
    assert read_utilization(tmp_path).empty
    assert binned_utilization(read_utilization(tmp_path), 10).empty
    assert mean_utilization(read_utilization(write(tmp_path)), 0, 9 * S) == {}


@pytest.mark.parametrize(
    "damage",
    [
        "x",
        "1,2,3,4,5",
        "-1,GPU-a,0.5,1",
        "1,GPU-a,nan,1",
        "1,GPU-a,inf,1",
        "1,GPU-a,-0.5,1",
        "1,,0.5,1",
        "1,GPU-a,0.5,many",
        f"{1 << 70},GPU-a,0.5,1",
        "1e400,GPU-a,0.5,1",
        '"1,GPU-a,0.5,1',
        HEADER,
        "\0\udcff"[0],
        "1,GPU-a\r0.5,1",
    ],
)
def test_a_damaged_line_is_left_out_and_counted(tmp_path: Path, damage: str) -> None:
    table = read_utilization(write(tmp_path, SAMPLES[1], damage, SAMPLES[2]))
    assert table["source"].tolist() == ["GPU-a", "GPU-b"]
    assert table.attrs["damaged_lines"] == 1


def test_a_line_that_was_cut_off_is_damaged_even_if_it_looks_whole(tmp_path: Path) -> None:
    table = read_utilization(write(tmp_path, SAMPLES[1], "5,GPU-a,0.5,12", end=""))
    assert (len(table), table.attrs["damaged_lines"]) == (1, 1)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / UTILIZATION_NAME).write_bytes(os.urandom(5000))
    assert read_utilization(tmp_path).empty


def test_only_a_regular_file_is_read(tmp_path: Path) -> None:
    (tmp_path / UTILIZATION_NAME).symlink_to("/dev/zero")
    with pytest.raises(TraceError, match="is no regular file; delete it"):
        read_utilization(tmp_path)


def test_bins_hold_means_and_largest_memory(tmp_path: Path) -> None:
    lines = [f"{100 + second * S},GPU-a,{second / 10},{second}" for second in range(10)]
    table = binned_utilization(read_utilization(write(tmp_path, *lines)), 5)
    assert table["utilization"].tolist() == pytest.approx([0.05, 0.25, 0.45, 0.65, 0.85])
    assert table["memory_bytes"].tolist() == [1, 3, 5, 7, 9]
    assert table["seconds"].tolist() == pytest.approx([0.9, 2.7, 4.5, 6.3, 8.1], abs=1e-3)


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "DEVICE_PERIOD_S", 0.01)
    monkeypatch.setattr(sampling, "PROCESS_PERIOD_S", 0.01)


def await_rows(directory: Path, rows: int) -> None:
    until(lambda: len(read_utilization(directory)) >= rows)


@pytest.mark.usefixtures("quickly")
def test_a_command_and_its_children_are_sampled(tmp_path: Path) -> None:
    code = "import os; os.fork(); print(flush=True)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True) as command:
        try:
            with sampled(tmp_path, command.pid, False) as sampler:
                await_rows(tmp_path, 20)
        finally:
            os.killpg(command.pid, 9)
    assert sampler.error is None
    assert all(each is not None and each > 0 for each in sampler.cores.values())  # both want a core all the time
    table = read_utilization(tmp_path)
    assert set(table["source"]) == {PROCESSES}
    assert table["utilization"].sum() > 0 and (table["memory_bytes"] > 0).all()
    assert table.attrs["damaged_lines"] == 0


def test_time_of_children_that_have_ended_is_not_lost() -> None:
    code = (
        "import os, time\nif os.fork() == 0:\n"
        "    while time.process_time() < 0.2: pass\n    os._exit(0)\nos.wait(); print(flush=True); input()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as command:
        started_s = time.monotonic() - 1
        tree = ProcessTree(command.pid, started_s)
        assert command.stdout is not None
        command.stdout.readline()
        ((_, busy, _),) = tree.sample()
        elapsed_s = time.monotonic() - started_s
        command.communicate(b"\n")
    assert busy * elapsed_s > 0.1
    assert tree.busy_cores == pytest.approx(busy)


def test_a_command_that_has_ended_is_not_sampled_before_it_is_waited_for() -> None:
    with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as command:
        assert command.stdin is not None
        tree = ProcessTree(command.pid, time.monotonic())
        ((_, _, memory_bytes),) = tree.sample()
        assert memory_bytes
        command.stdin.close()
        os.waitid(os.P_PID, command.pid, os.WEXITED | os.WNOWAIT)
        assert tree.sample() == []


def test_a_command_that_has_ended_has_no_samples() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as command:
        command.wait()
        assert ProcessTree(command.pid, time.monotonic()).sample() == []


class Nvml:
    """A library that knows two devices; the second is a slice that does not say how busy it is."""

    class NVMLError(Exception):
        pass

    def nvmlInit(self) -> None: ...

    def nvmlDeviceGetCount(self) -> int:
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetUUID(self, handle: int) -> str:
        return f"GPU-{handle}"

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> Any:
        if handle == 1:
            raise self.NVMLError
        return SimpleNamespace(gpu=97, memory=3)

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:
        return SimpleNamespace(used=1 << 30)


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> Nvml:
    nvml = Nvml()
    monkeypatch.setattr(sampling.ctypes, "CDLL", lambda name: None)
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    return nvml


def test_devices_say_what_nvidia_smi_says(nvml: Nvml) -> None:
    devices = Devices()
    assert devices.sample() == [("GPU-0", 0.97, 1 << 30)]
    assert devices.sample() == [("GPU-0", 0.97, 1 << 30)]


def test_memory_may_be_unknown(nvml: Nvml, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(handle: int) -> None:
        raise nvml.NVMLError

    monkeypatch.setattr(nvml, "nvmlDeviceGetMemoryInfo", fail)
    assert Devices().sample() == [("GPU-0", 0.97, None)]


def test_no_devices_where_the_library_cannot_start(nvml: Nvml, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise nvml.NVMLError

    monkeypatch.setattr(nvml, "nvmlInit", fail)
    assert not Devices()


@pytest.mark.usefixtures("nvml", "quickly")
def test_devices_are_sampled_only_if_their_layer_is_recorded(tmp_path: Path) -> None:
    for has_devices, expected in ((True, {"GPU-0", PROCESSES}), (False, {PROCESSES})):
        directory = tmp_path / str(has_devices)
        directory.mkdir()
        with sampled(directory, os.getpid(), has_devices):
            await_rows(directory, 10)
        assert set(read_utilization(directory)["source"]) == expected


@pytest.mark.usefixtures("quickly")
def test_samples_of_a_run_in_windows_lie_in_the_one_that_is_recorded(tmp_path: Path) -> None:
    """Of a run that goes on for days none lie elsewhere, where nobody would remove them. One may be taken away."""
    run = tmp_path / "run"
    os.close(begin_trace(run, config := RecordConfig(idle=True), ["python"], False))
    windows = Windows(run, config, ["python"], None)
    before = {path.name for path in run.iterdir()}
    with sampled(run, os.getpid(), False, windows) as sampler:
        time.sleep(0.05)
        await_rows(first := windows.begin(), 3)
        windows.end()
        time.sleep(0.05)
        between_ns = time.monotonic_ns()
        windows.begin().rename(tmp_path / "gone")
        time.sleep(0.05)
        windows.end()
        await_rows(third := windows.begin(), 3)
    assert sampler.error in (None, "No such file or directory")
    assert read_utilization(first)["monotonic_ns"].max() < between_ns < read_utilization(third)["monotonic_ns"].min()
    assert {path.name for path in run.iterdir()} == before | {first.name, third.name}


@pytest.mark.usefixtures("quickly")
def test_a_full_disk_ends_the_sampling_and_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, written = os.write, []

    def write(file: int, data: bytes) -> int:
        written.append(data)
        if len(written) == 3:
            real(file, data[:5])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(file, data)

    monkeypatch.setattr(sampling.os, "write", write)
    sampler = UtilizationSampler(tmp_path, os.getpid(), has_devices=False)
    sampler.run()
    assert sampler.error == "No space left on device"
    table = read_utilization(tmp_path)
    assert (len(table), table.attrs["damaged_lines"]) == (1, 1)


def test_a_trace_that_has_vanished_is_told(tmp_path: Path) -> None:
    sampler = UtilizationSampler(tmp_path / "gone", os.getpid(), has_devices=False)
    sampler.run()
    assert sampler.error == "No such file or directory"


def test_a_window_that_is_completed_gets_no_more_samples(tmp_path: Path) -> None:
    """Whatever the sampler writes meanwhile, each window is as its manifest says."""
    run, config = tmp_path / "run", RecordConfig(idle=True)
    os.close(begin_trace(run, config, ["python"], False))
    windows, stopping = Windows(run, config, ["python"], None), threading.Event()
    file = SampleFile(run, windows)

    def sample() -> None:
        while not stopping.is_set():
            file.write("0,processes,1,1\n")

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        for _ in range(100):
            window = windows.begin()
            until((window / UTILIZATION_NAME).exists)
            windows.end()
            windows.complete(window)
            check_files(window, read_manifest(window)["checksums"])
    finally:
        stopping.set()
        sampler.join()
        file.close()
    assert file.error is None
