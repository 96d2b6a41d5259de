"""The check whether GPUs can be recorded, against CUDA drivers of our own that fail in known ways."""

import subprocess
import sys
from pathlib import Path

import pytest
from fake_driver import compile_driver

from benchmarks.trace_writer import TraceWriter
from rlscope.checks import cupti_check
from rlscope.checks.check import Check, exit_status
from rlscope.checks.cupti_check import Found, check_cuda, check_devices, check_libcupti, check_tracing, missing_work
from rlscope.checks.cupti_probe import KERNEL, OPERATION
from rlscope.model import Category, DeviceWork
from rlscope.monitor import cuda_driver

SCRIPT = Path(__file__).resolve().parents[2] / "dockerfiles" / "sh" / "test_cupti_profiler_api.sh"


@pytest.fixture
def libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that comes first where libraries are looked for; a driver of this machine is not found there."""
    folder = tmp_path / "libraries"
    folder.mkdir()
    monkeypatch.setenv("LD_LIBRARY_PATH", str(folder))
    return folder


def run_script() -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rlscope.checks.cupti_check"], capture_output=True, text=True, timeout=200, check=False
    )


def test_the_script_of_the_container_says_that_there_is_no_gpu(libraries: Path) -> None:
    (libraries / "libcuda.so.1").write_text("not a library")  # so that none of this machine is found
    finished = subprocess.run([SCRIPT], capture_output=True, text=True, timeout=100, check=False)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert "CPU-only mode" in finished.stdout


@pytest.mark.parametrize(("status", "devices"), [(100, 0), (0, 0)])
def test_no_device_is_cpu_only(libraries: Path, status: int, devices: int) -> None:
    compile_driver(libraries, devices, 12080, status)
    finished = run_script()
    assert (finished.returncode, finished.stderr) == (0, "")
    assert "no device" in finished.stdout and "CPU-only mode" in finished.stdout


@pytest.mark.parametrize(
    ("status", "fix"),
    [(803, "restart the machine, or the container"), (802, "nvidia-fabricmanager"), (999, "nvidia-smi says what")],
)
def test_a_driver_that_fails_is_to_be_fixed(libraries: Path, status: int, fix: str) -> None:
    compile_driver(libraries, 1, 12080, status)
    finished = run_script()
    assert (finished.returncode, finished.stderr) == (1, "")
    assert f"FIX   driver     cuInit failed with error {status}: made to fail" in finished.stdout
    assert fix in finished.stdout


def test_a_gpu_that_cannot_be_used_is_to_be_fixed(libraries: Path) -> None:
    compile_driver(libraries, 1, 12080)
    finished = run_script()
    assert (finished.returncode, finished.stderr) == (1, "")
    assert "ok    driver     for CUDA 12.8" in finished.stdout
    assert "cuDevicePrimaryCtxRetain failed with error 2: made to fail" in finished.stdout


def found(**status: object) -> Found:
    said = {"state": "recording", "error": "", "cupti_path": "/lib/libcupti.so.12", "cupti_version": 28}
    return Found({**said, **status}, [True], [])


class Hopper:
    def name(self, device: int) -> str:
        return "NVIDIA H200"

    def compute_capability(self, device: int) -> tuple[int, int]:
        return 9, 0


@pytest.mark.parametrize("supported", [True, None])
def test_devices_are_listed_with_their_compute_capability(supported: bool | None) -> None:
    check = check_devices(Hopper(), [0], Found(found().status, [supported], []))  # type: ignore[arg-type]
    assert check == Check("devices", True, "0: NVIDIA H200 (9.0)")


def test_a_device_that_libcupti_does_not_support() -> None:
    check = check_devices(Hopper(), [0], Found(found().status, [False], []))  # type: ignore[arg-type]
    assert check.is_ready is False
    assert "CUDA 12: 7.0 and up; CUDA 13: 7.5 and up" in check.fix


@pytest.mark.parametrize(
    ("driver", "version", "is_ready"),
    [(12080, 28, True), (13000, 28, True), (13000, 130001, True), (12080, 130001, False)],
)
def test_libcupti_must_not_be_newer_than_the_driver(driver: int, version: int, is_ready: bool) -> None:
    check = check_libcupti(driver, found(cupti_version=version))
    assert check.is_ready is is_ready
    assert "/lib/libcupti.so.12" in check.found
    assert ("nvidia-cuda-cupti-cu12" in check.fix) is not is_ready


@pytest.mark.parametrize(("driver", "package"), [(12080, "nvidia-cuda-cupti-cu12"), (13000, "nvidia-cuda-cupti")])
def test_no_libcupti(driver: int, package: str) -> None:
    check = check_libcupti(driver, found(cupti_path="", cupti_version=0))
    assert (check.is_ready, check.fix) == (False, f"pip install {package}")


def test_tracing() -> None:
    assert check_tracing(found()).is_ready
    failed = check_tracing(found(state="failed", error="another tool has CUPTI"))
    assert (failed.is_ready, failed.found) == (False, "another tool has CUPTI")
    waiting = check_tracing(found(state="waiting"))
    assert (waiting.is_ready, waiting.found) == (False, "the recorder did not start: waiting")
    lacking = check_tracing(Found(found().status, [True], ["the kernel of every device"]))
    assert (lacking.is_ready, lacking.found) == (False, "recorded without the kernel of every device")


def recorded(directory: Path, devices: int = 1, launcher: str = OPERATION, without: str = "") -> Path:
    """What the small program leaves in its trace."""
    writer = TraceWriter(directory)
    process = writer.process(start_ticks=0)
    thread = process.thread(start_ticks=0)
    thread.begin_operation(1, OPERATION)
    for name in ("cuMemsetD8Async", "cuLaunchKernel", "cuMemcpyDtoH"):
        if name != without:
            thread.boundary(3, 3, Category.CUDA, name)
    thread.end(50)
    launch = process.launch_site(launcher)
    for device in range(devices):
        queue = process.queue(device)
        for start, work, name in (
            (10, DeviceWork.MEMSET, "memset"),
            (20, DeviceWork.KERNEL, KERNEL),
            (30, DeviceWork.COPY, "memcpy DtoH"),
        ):
            if name != without:
                queue.record(work, start, start + 5, name, launch, 1024)
    process.stop(100)
    return writer.write()


def test_a_whole_trace_of_the_small_program_lacks_nothing(tmp_path: Path) -> None:
    assert missing_work(recorded(tmp_path), 1) == []


@pytest.mark.parametrize(
    ("without", "missing"),
    [
        ("memset", "the memset of every device"),
        (KERNEL, "the kernel of every device"),
        ("memcpy DtoH", "the copy of every device"),
        ("cuLaunchKernel", "cuLaunchKernel"),
        ("cuMemcpyDtoH", "cuMemcpyDtoH"),
    ],
)
def test_what_a_trace_of_the_small_program_lacks_is_named(tmp_path: Path, without: str, missing: str) -> None:
    assert missing_work(recorded(tmp_path, without=without), 1) == [missing]


def test_work_must_come_from_each_device_and_with_its_operation(tmp_path: Path) -> None:
    assert "the kernel of every device" in missing_work(recorded(tmp_path / "one"), 2)
    assert missing_work(recorded(tmp_path / "two", devices=2), 2) == []
    assert "who launched the kernel" in missing_work(recorded(tmp_path / "other", launcher="(none)"), 1)
    assert "a trace that can be read" in missing_work(tmp_path / "nothing", 1)[0]


def test_the_doctor_shows_the_same_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [Check("driver", False, "broken", "mend it")]
    monkeypatch.setattr(cupti_check, "Driver", lambda: (_ for _ in ()).throw(OSError()))
    assert [check.name for check in check_cuda()] == ["driver"]
    assert exit_status(check_cuda()) == 0
    assert exit_status(lines) == 1


def test_a_container_without_its_gpus_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cupti_check, "Driver", lambda: (_ for _ in ()).throw(OSError()))
    monkeypatch.setattr(cuda_driver, "KERNEL_DRIVER", tmp_path)
    (check,) = check_cuda()
    assert check.is_ready is None and "--gpus all" in check.fix
