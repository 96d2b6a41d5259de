"""`record --counters` against a libcupti and a driver of our own, whose samples are known."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_driver import compile_driver

from rlscope.monitor import cuda_driver
from rlscope.monitor.counter_sampler import ENDING_TAKES, CountersError, DeviceSampler, begin
from rlscope.monitor.cuda_driver import Driver
from rlscope.monitor.cupti_profiler import OUT_OF_MEMORY, Cupti
from rlscope.trace.counter_metrics import parse_counters
from rlscope.trace.counters_file import CounterSamples, read_counters
from rlscope.trace.reader import counter_files, counters_path

TESTS = Path(__file__).resolve().parents[1]
INTERVAL_NS = 200_000
COUNTERS = "dram_bytes,achieved_occupancy"
UUID = "GPU-abababab-abab-abab-abab-abababababab"
SECOND_UUID = "GPU-acacacac-acac-acac-acac-acacacacacac"
#: By which the clock of a device of our own is ahead of CLOCK_MONOTONIC.
CLOCK_OFFSET_NS = 1_000_000_000_000_000


@pytest.fixture(scope="module")
def fakes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both."""
    folder = tmp_path_factory.mktemp("fakes")
    compile_driver(folder)
    compile_cupti(folder / "libcupti.so.13")
    shutil.copy(folder / "libcupti.so.13", folder / "counters.so")  # a name that no recorder takes for a libcupti
    return folder


@pytest.fixture(scope="module")
def two_devices(fakes: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a driver that has two devices."""
    folder = tmp_path_factory.mktemp("two")
    compile_driver(folder, count=2)
    for name in ("libcupti.so.13", "counters.so"):
        (folder / name).symlink_to(fakes / name)
    return folder


def begin_here(folder: Path, patch: pytest.MonkeyPatch, **settings: str) -> list[DeviceSampler]:
    """All devices, sampled by this process."""
    patch.setattr(cuda_driver, "LIBRARY", str(folder / "libcuda.so.1"))
    for name, value in settings.items():
        patch.setenv(f"FAKE_COUNTERS_{name}", value)
    devices, errors = begin(Cupti(str(folder / "counters.so")), Driver(), parse_counters(COUNTERS))
    assert errors == []
    return devices


def compile_cupti(output: Path, *options: str) -> None:
    includes = [f"-I{path}" for path in Path(sysconfig.get_path("purelib")).glob("nvidia/*/include")]
    source = TESTS / "fake_counters.cpp"
    subprocess.run(["c++", "-std=c++17", "-shared", "-fPIC", *includes, *options, source, "-o", output], check=True)


def record(
    fakes: Path, trace: Path, *arguments: str, seconds: float = 0.0, **settings: str
) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "LD_LIBRARY_PATH": str(fakes),
        "LD_PRELOAD": str(fakes / "libcupti.so.13"),
        **{f"FAKE_COUNTERS_{name}": value for name, value in settings.items()},
    }
    script = f"import time; time.sleep({seconds}); print('ended')"
    command = [sys.executable, "-m", "rlscope", "record", "-o", str(trace), *arguments]
    return subprocess.run(
        [*command, "--", sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )


def counters_of(trace: Path) -> dict[str, Any]:
    return dict(json.loads((trace / "manifest.json").read_text())["counters"])


@pytest.fixture(scope="module")
def sampled(fakes: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[CounterSamples, dict[str, Any]]:
    trace = tmp_path_factory.mktemp("sampled") / "trace"
    finished = record(fakes, trace, "--counters", COUNTERS, seconds=1)
    assert (finished.returncode, finished.stdout) == (0, "ended\n"), finished.stderr
    assert "counters" not in finished.stderr
    (path,) = counter_files(trace)
    return read_counters(path), counters_of(trace)


def test_samples_follow_each_other_and_none_is_lost(sampled: tuple[CounterSamples, dict[str, Any]]) -> None:
    samples, said = sampled
    assert not samples.is_cut_off
    assert len(samples.start_ns) > 1e9 / INTERVAL_NS
    assert np.all(samples.end_ns - samples.start_ns == INTERVAL_NS)
    assert np.all(samples.start_ns[1:] == samples.end_ns[:-1])
    device = {"uuid": UUID, "samples": len(samples.start_ns), "lost_samples": 0}
    assert said == {"devices": [device], "error": None}


def test_values_are_those_that_the_device_counted(sampled: tuple[CounterSamples, dict[str, Any]]) -> None:
    samples, _ = sampled
    numbers = np.arange(1, len(samples.start_ns) + 1)  # the first sample is left out
    names = [
        "dram__bytes.sum",
        "sm__warps_active.avg.pct_of_peak_sustained_active",
        "sm__cycles_active.sum",
    ]
    for place, name in enumerate(names):
        assert samples.columns[name].tolist() == (100.0 * place + numbers % 100).tolist()
    assert [metric.name for metric in samples.metrics] == COUNTERS.split(",")


def test_the_clock_is_known_within_its_bounds(sampled: tuple[CounterSamples, dict[str, Any]]) -> None:
    samples, _ = sampled
    assert samples.offset_low_ns <= CLOCK_OFFSET_NS <= samples.offset_high_ns
    assert samples.offset_high_ns - samples.offset_low_ns >= 2 * INTERVAL_NS  # the first pulse may be an interval late


def test_a_device_that_is_refused_leaves_the_others(two_devices: Path, tmp_path: Path) -> None:
    finished = record(two_devices, tmp_path / "trace", "--counters", COUNTERS, REFUSED="0", seconds=0.1)
    assert (finished.returncode, finished.stdout) == (0, "ended\n")
    reason = f"{UUID}: another program reads them"
    assert f"rlscope: counters were not all read: {reason}" in finished.stderr
    (path,) = counter_files(tmp_path / "trace")
    assert read_counters(path).uuid == SECOND_UUID
    said = counters_of(tmp_path / "trace")
    assert [device["uuid"] for device in said["devices"]] == [SECOND_UUID]
    assert said["error"].startswith(reason)


def test_a_device_without_any_sample_is_said(fakes: Path, tmp_path: Path) -> None:
    failure = f"cuptiPmSamplingDecodeData={OUT_OF_MEMORY}"
    finished = record(fakes, tmp_path / "trace", "--counters", COUNTERS, FAIL=failure, seconds=0.4)
    assert (finished.returncode, finished.stdout) == (0, "ended\n")
    assert f"counters were not all read: {UUID}: no sample of" in finished.stderr
    assert counter_files(tmp_path / "trace") == []
    said = counters_of(tmp_path / "trace")
    (device,) = said["devices"]
    assert device["samples"] == 0
    assert device["lost_samples"] >= 1998
    assert "no sample of" in said["error"]


def test_two_devices_are_sampled_half_as_often_each(
    two_devices: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    devices = begin_here(two_devices, monkeypatch)
    time.sleep(0.1)
    for device in devices:
        device.end(tmp_path)
    files = [read_counters(path) for path in counter_files(tmp_path)]
    assert [samples.uuid for samples in files] == [device.uuid for device in devices] == [UUID, SECOND_UUID]
    for device, samples in zip(devices, files, strict=True):
        assert samples.interval_ns == 2 * INTERVAL_NS
        assert np.all(samples.end_ns - samples.start_ns == 2 * INTERVAL_NS)
        assert (device.samples, device.lost_samples, device.error) == (len(samples.start_ns), 0, None)


def test_devices_that_are_refused_alike_have_one_reason(two_devices: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CountersError) as caught:
        begin_here(two_devices, monkeypatch, FAIL="cuptiPmSamplingEnable=43")
    assert str(caught.value) == f"{UUID}, {SECOND_UUID}: the GPU is divided (MIG); use a whole one"


def test_what_waits_at_the_end_is_read_though_it_is_more_than_an_image(
    fakes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (device,) = begin_here(fakes, monkeypatch, HELD="1", IMAGE="900")
    time.sleep(0.2)  # 1000 intervals
    device.end(tmp_path)
    samples = read_counters(counters_path(tmp_path, UUID))
    assert device.samples == len(samples.start_ns) >= 998
    assert np.all(samples.start_ns[1:] == samples.end_ns[:-1])
    assert (device.lost_samples, device.error) == (0, None)


def test_what_cannot_be_read_at_the_end_is_counted_as_lost(
    fakes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began_ns = time.monotonic_ns()
    (device,) = begin_here(fakes, monkeypatch, HELD="1", IMAGE="10")
    time.sleep(0.3)
    device.end(tmp_path)
    most = (time.monotonic_ns() - began_ns) / INTERVAL_NS
    samples = read_counters(counters_path(tmp_path, UUID))
    assert device.samples == len(samples.start_ns) == 10 * ENDING_TAKES - 1  # the first is left out
    assert 1498 <= device.samples + device.lost_samples <= most


def test_what_fails_to_be_decoded_at_the_end_is_counted_as_lost(
    fakes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (device,) = begin_here(fakes, monkeypatch)
    time.sleep(0.05)
    device.drain(tmp_path)
    time.sleep(0.3)
    monkeypatch.setenv("FAKE_COUNTERS_FAIL", f"cuptiPmSamplingDecodeData={OUT_OF_MEMORY}")
    device.end(tmp_path)
    assert device.samples == len(read_counters(counters_path(tmp_path, UUID)).start_ns) > 0
    assert device.lost_samples >= 1498
    assert device.error is None


def test_a_full_image_starts_sampling_afresh_and_the_loss_is_counted(fakes: Path, tmp_path: Path) -> None:
    finished = record(fakes, tmp_path / "trace", "--counters", COUNTERS, FULL_AT="2", seconds=1)
    assert finished.returncode == 0, finished.stderr
    (path,) = counter_files(tmp_path / "trace")
    samples = read_counters(path)
    gaps_ns = samples.start_ns[1:] - samples.end_ns[:-1]
    assert np.count_nonzero(gaps_ns) == 1
    (device,) = counters_of(tmp_path / "trace")["devices"]
    assert device["lost_samples"] == round(gaps_ns.sum() / INTERVAL_NS)


def test_a_device_without_an_interval_in_time_counts_clocks(fakes: Path, tmp_path: Path) -> None:
    finished = record(fakes, tmp_path / "trace", "--counters", COUNTERS, CLOCKS_PER_US="1000", seconds=0.3)
    assert finished.returncode == 0, finished.stderr
    (path,) = counter_files(tmp_path / "trace")
    samples = read_counters(path)
    assert np.all(samples.end_ns - samples.start_ns == 1.4 * INTERVAL_NS)  # that of a device of 1.4 GHz is asked for
    (device,) = counters_of(tmp_path / "trace")["devices"]
    assert device["lost_samples"] == 0


def test_a_clock_that_steps_back_loses_no_sample(fakes: Path, tmp_path: Path) -> None:
    finished = record(fakes, tmp_path / "trace", "--counters", COUNTERS, BACK_AT="100", seconds=0.3)
    assert finished.returncode == 0, finished.stderr
    (path,) = counter_files(tmp_path / "trace")
    samples = read_counters(path)
    lengths_ns = samples.end_ns - samples.start_ns
    assert np.flatnonzero(lengths_ns != INTERVAL_NS).tolist() == [99]
    assert lengths_ns[99] == INTERVAL_NS - 173
    assert np.all(samples.start_ns[1:] == samples.end_ns[:-1])


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"FAIL": "cuptiPmSamplingEnable=35"}, "NVreg_RestrictProfilingToAdminUsers=0"),
        ({"FAIL": "cuptiPmSamplingGetCounterAvailability=26"}, "another program reads them"),
        ({"FAIL": "cuptiPmSamplingEnable=43"}, "the GPU is divided (MIG); use a whole one"),
        ({"FAIL": "cuptiProfilerHostInitialize=1", "VGPU": "1"}, "the device's vgpu does not allow it"),
        ({"FAIL": "cuptiPmSamplingStart=999"}, "cuptiPmSamplingStart gave MADE_TO_FAIL (999)"),
        ({"FAIL": "cuptiPmSamplingEnable=1", "VGPU": "1"}, "the device's vgpu does not allow it"),
        ({"PASSES": "2"}, "dram_bytes takes 2 runs of a program"),
    ],
)
def test_a_device_that_may_not_be_sampled_leaves_the_program_alone(
    fakes: Path, tmp_path: Path, settings: dict[str, str], sentence: str
) -> None:
    finished = record(fakes, tmp_path / "trace", "--counters", COUNTERS, **settings)  # type: ignore[arg-type]
    assert (finished.returncode, finished.stdout) == (0, "ended\n")
    (line,) = [line for line in finished.stderr.splitlines() if "counters were not all read" in line]
    assert sentence in line
    assert sentence in str(counters_of(tmp_path / "trace")["error"])
    assert counter_files(tmp_path / "trace") == []


def test_sampling_that_fails_later_is_said_and_keeps_what_there_is(fakes: Path, tmp_path: Path) -> None:
    finished = record(fakes, tmp_path / "trace", "--counters", COUNTERS, FAIL="cuptiPmSamplingStop=9", seconds=0.6)
    assert (finished.returncode, finished.stdout) == (0, "ended\n")
    assert "sampling ended early: cuptiPmSamplingStop gave MADE_TO_FAIL (9)" in finished.stderr
    (path,) = counter_files(tmp_path / "trace")
    samples = read_counters(path)
    assert samples.is_cut_off
    assert len(samples.start_ns) > 0


def test_a_counter_that_the_device_has_not(fakes: Path, tmp_path: Path) -> None:
    finished = record(fakes, tmp_path / "trace", "--counters", "sm__unknown.sum", LACKS="unknown")
    assert "this device (FAKE100) has no sm__unknown.sum; see rlscope record --counters list" in finished.stderr


def test_a_ratio_whose_weight_the_device_has_not(fakes: Path, tmp_path: Path) -> None:
    ratio = "pcie__read_bytes.sum.per_cycle_active"
    finished = record(fakes, tmp_path / "trace", "--counters", ratio, LACKS="pcie__cycles_active")
    assert (finished.returncode, finished.stdout) == (0, "ended\n")
    assert "Traceback" not in finished.stderr
    assert f"(FAKE100) has no pcie__cycles_active.sum, by which {ratio} is weighted" in finished.stderr
    assert "has no pcie__cycles_active.sum" in counters_of(tmp_path / "trace")["error"]


def listed(folder: Path, cupti: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"LD_LIBRARY_PATH": str(folder), "LD_PRELOAD": str(cupti), **settings}
    command = [sys.executable, "-m", "rlscope", "record", "--counters", "list"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_libcupti_that_is_too_old(fakes: Path, tmp_path: Path) -> None:
    old = tmp_path / "libcupti.so.13"
    compile_cupti(old, "-DFAKE_LACKS_SAMPLING")
    finished = listed(fakes, old)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert "error: no counters: counters need the libcupti of CUDA 12.6 or newer" in finished.stderr


def test_a_list_that_breaks_off_is_none(fakes: Path) -> None:
    finished = listed(fakes, fakes / "libcupti.so.13", FAKE_COUNTERS_FAIL="cuptiProfilerHostGetBaseMetrics=999")
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr == "rlscope: error: no counters: cuptiProfilerHostGetBaseMetrics gave MADE_TO_FAIL (999)\n"


@pytest.mark.parametrize(
    ("status", "count", "sentence"),
    [
        (100, 0, "no device that may be used; see CUDA_VISIBLE_DEVICES"),
        (999, 1, "cuInit failed with error 999: made to fail"),
    ],
)
def test_no_device_that_may_be_used(status: int, count: int, sentence: str, fakes: Path, tmp_path: Path) -> None:
    compile_driver(tmp_path, count=count, status=status)
    finished = listed(tmp_path, fakes / "libcupti.so.13")
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr == f"rlscope: error: no counters: {sentence}\n"


def test_a_machine_without_a_driver(fakes: Path, tmp_path: Path) -> None:
    (tmp_path / "libcuda.so.1").write_text("not a library")  # so that none of this machine is found
    finished = listed(tmp_path, fakes / "libcupti.so.13")
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr.startswith("rlscope: error: no counters: libcuda.so.1 was not found; ")


def test_a_sampler_whose_recording_was_killed_says_nothing(fakes: Path, tmp_path: Path) -> None:
    environment = os.environ | {"LD_LIBRARY_PATH": str(fakes), "LD_PRELOAD": str(fakes / "libcupti.so.13")}
    command = [sys.executable, "-m", "rlscope.monitor.counter_sampler", str(tmp_path), COUNTERS]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment) as sampler:
        assert sampler.stdin and sampler.stdout and sampler.stderr
        assert json.loads(sampler.stdout.readline()) == {"error": None}
        sampler.stdout.close()
        time.sleep(0.1)  # some samples
        sampler.stdin.close()
        assert sampler.stderr.read() == ""
    (path,) = counter_files(tmp_path)
    assert not read_counters(path).is_cut_off


def test_the_libcupti_of_cuda_12_samples_with_a_driver_of_cuda_12(tmp_path: Path) -> None:
    folder = tmp_path / "cuda12"
    folder.mkdir()
    compile_driver(folder, version=12060)
    compile_cupti(folder / "libcupti.so.12", "-DFAKE_VERSION=24")
    environment = os.environ | {"LD_LIBRARY_PATH": str(folder)}  # that of CUDA 13 is found first, and is too new
    command = [sys.executable, "-m", "rlscope", "record", "-o", str(tmp_path / "trace"), "--counters", COUNTERS, "--"]
    finished = subprocess.run(
        [*command, sys.executable, "-c", ""], env=environment, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
    assert "counters" not in finished.stderr
    assert counters_of(tmp_path / "trace")["error"] is None


def test_the_list_has_friendly_names_and_the_devices_own(fakes: Path, tmp_path: Path) -> None:
    finished = record(fakes, tmp_path / "trace", "--counters", "list")
    assert finished.returncode == 0, finished.stderr
    assert "Fake GPU (FAKE100) counts" in finished.stdout
    assert "sm_efficiency        smsp__cycles_active.avg.pct_of_peak_sustained_elapsed: # of things" in finished.stdout
    assert "dram__bytes " in finished.stdout
    assert not (tmp_path / "trace").exists()


def test_counters_need_the_work_of_gpus(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rlscope", "record", "--layers", "backend", "--counters", COUNTERS, "--", "true"]
    finished = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert finished.returncode == 2
    assert "--counters needs cuda among the --layers" in finished.stderr


CHECK = """
from rlscope.checks.check import print_checks
from rlscope.checks.counter_check import check_counters
from rlscope.monitor.cuda_driver import Driver
driver = Driver()
print_checks(check_counters(driver, driver.devices(), PATH))
"""


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, "ok    counters   can be sampled on 0: Fake GPU (FAKE100)"),
        ({"FAIL": "cuptiProfilerDeviceSupported=999"}, "ok    counters   can be sampled on 0: Fake GPU (FAKE100)"),
        ({"FAIL": "cuptiPmSamplingEnable=35"}, "note  counters   not read of 0: Fake GPU"),
        ({"FAIL": "cuptiPmSamplingEnable=35"}, "NVreg_RestrictProfilingToAdminUsers=0"),
        ({"FAIL": "cuptiPmSamplingEnable=1", "VGPU": "1"}, "sampled counters: not with this vgpu"),
    ],
)
def test_the_check_tries_to_sample(fakes: Path, settings: dict[str, str], expected: str) -> None:
    environment = os.environ | {"LD_LIBRARY_PATH": str(fakes)}
    environment |= {f"FAKE_COUNTERS_{name}": value for name, value in settings.items()}
    script = CHECK.replace("PATH", repr(str(fakes / "libcupti.so.13")))
    finished = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert expected in finished.stdout
    assert "note  times      of kernels are taken by CUPTI: this libcupti is older than 12.8" in finished.stdout
