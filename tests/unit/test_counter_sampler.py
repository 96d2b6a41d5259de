"""`record --counters` against a libcupti and a driver of our own, whose samples are known."""

import json
import os
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import numpy as np
import pytest

from rlscope.trace.counters_file import CounterSamples, counter_files, read_counters

TESTS = Path(__file__).resolve().parents[1]
INTERVAL_NS = 200_000
COUNTERS = "dram_bytes,achieved_occupancy"
DRIVER = """
#include <string.h>
int cuInit(unsigned flags) { return 0; }
int cuGetErrorString(int status, const char** text) { *text = "made to fail"; return 0; }
int cuDriverGetVersion(int* version) { *version = VERSION; return 0; }
int cuDeviceGetCount(int* count) { *count = COUNT; return 0; }
int cuDeviceGet(int* device, int index) { *device = index; return 0; }
int cuDeviceGetName(char* name, int size, int device) { strncpy(name, "Fake GPU", size); return 0; }
int cuDeviceGetAttribute(int* value, int attribute, int device) { *value = attribute == 75 ? 9 : 0; return 0; }
int cuDeviceGetUuid_v2(char* uuid, int device) { memset(uuid, 0xab, 16); return 0; }
"""
UUID = "GPU-abababab-abab-abab-abab-abababababab"


def compile_library(source: str, output: Path, *options: str) -> None:
    command = ["c++", "-shared", "-fPIC", "-w", "-x", "c++", "-", "-o", str(output), *options]
    subprocess.run(command, input=f'extern "C" {{{source}}}' if source else "", text=True, check=True)


@pytest.fixture(scope="module")
def fakes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both."""
    folder = tmp_path_factory.mktemp("fakes")
    compile_library(DRIVER, folder / "libcuda.so.1", "-DCOUNT=1", "-DVERSION=13000")
    compile_cupti(folder / "libcupti.so.13")
    return folder


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


def counters_of(trace: Path) -> dict[str, object]:
    return dict(json.loads((trace / "manifest.json").read_text())["counters"])


@pytest.fixture(scope="module")
def sampled(fakes: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[CounterSamples, dict[str, object]]:
    trace = tmp_path_factory.mktemp("sampled") / "trace"
    finished = record(fakes, trace, "--counters", COUNTERS, seconds=1)
    assert (finished.returncode, finished.stdout) == (0, "ended\n"), finished.stderr
    assert "counters" not in finished.stderr
    (path,) = counter_files(trace)
    return read_counters(path), counters_of(trace)


def test_samples_follow_each_other_and_none_is_lost(sampled: tuple[CounterSamples, dict[str, object]]) -> None:
    samples, said = sampled
    assert not samples.is_cut_off
    assert len(samples.start_ns) > 1e9 / INTERVAL_NS
    assert np.all(samples.end_ns - samples.start_ns == INTERVAL_NS)
    assert np.all(samples.start_ns[1:] == samples.end_ns[:-1])
    device = {"uuid": UUID, "samples": len(samples.start_ns), "lost_samples": 0}
    assert said == {"devices": [device], "error": None}


def test_values_are_those_that_the_device_counted(sampled: tuple[CounterSamples, dict[str, object]]) -> None:
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


def test_the_clock_is_known_within_its_bounds(sampled: tuple[CounterSamples, dict[str, object]]) -> None:
    samples, _ = sampled
    offset_ns = time.time_ns() - time.monotonic_ns()  # the device of our own has CLOCK_REALTIME
    slack_ns = 50_000_000  # of CLOCK_REALTIME, which may be set
    assert samples.offset_low_ns - slack_ns <= offset_ns <= samples.offset_high_ns + slack_ns
    assert samples.offset_low_ns < samples.offset_high_ns


def test_a_full_image_starts_sampling_afresh_and_the_loss_is_counted(fakes: Path, tmp_path: Path) -> None:
    finished = record(fakes, tmp_path / "trace", "--counters", COUNTERS, FULL_AT="2", seconds=1)
    assert finished.returncode == 0, finished.stderr
    (path,) = counter_files(tmp_path / "trace")
    samples = read_counters(path)
    gaps_ns = samples.start_ns[1:] - samples.end_ns[:-1]
    assert np.count_nonzero(gaps_ns) == 1
    (device,) = counters_of(tmp_path / "trace")["devices"]  # type: ignore[misc, attr-defined]
    assert device["lost_samples"] == round(gaps_ns.sum() / INTERVAL_NS)


def test_a_device_without_an_interval_in_time_counts_clocks(fakes: Path, tmp_path: Path) -> None:
    finished = record(fakes, tmp_path / "trace", "--counters", COUNTERS, CLOCKS_PER_US="1000", seconds=0.3)
    assert finished.returncode == 0, finished.stderr
    (path,) = counter_files(tmp_path / "trace")
    samples = read_counters(path)
    assert np.all(samples.end_ns - samples.start_ns == 1.4 * INTERVAL_NS)  # that of a device of 1.4 GHz is asked for
    (device,) = counters_of(tmp_path / "trace")["devices"]  # type: ignore[misc, attr-defined]
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
        ({"PASSES": "2"}, "dram_bytes takes 2 runs of a program"),
    ],
)
def test_a_device_that_may_not_be_sampled_leaves_the_program_alone(
    fakes: Path, tmp_path: Path, settings: dict[str, str], sentence: str
) -> None:
    finished = record(fakes, tmp_path / "trace", "--counters", COUNTERS, **settings)
    assert (finished.returncode, finished.stdout) == (0, "ended\n")
    (line,) = [line for line in finished.stderr.splitlines() if "counters were not read" in line]
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
    finished = record(fakes, tmp_path / "trace", "--counters", "sm__unknown.sum")
    assert "this device (FAKE100) has no sm__unknown.sum; see rlscope record --counters list" in finished.stderr


def test_a_libcupti_that_is_too_old(fakes: Path, tmp_path: Path) -> None:
    old = tmp_path / "libcupti.so.13"
    compile_cupti(old, "-DFAKE_LACKS_SAMPLING")
    environment = os.environ | {"LD_LIBRARY_PATH": str(fakes), "LD_PRELOAD": str(old)}
    command = [sys.executable, "-m", "rlscope", "record", "--counters", "list"]
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "no counters: counters need the libcupti of CUDA 12.6 or newer" in finished.stdout


def test_the_libcupti_of_cuda_12_samples_with_a_driver_of_cuda_12(tmp_path: Path) -> None:
    folder = tmp_path / "cuda12"
    folder.mkdir()
    compile_library(DRIVER, folder / "libcuda.so.1", "-DCOUNT=1", "-DVERSION=12060")
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
from rlscope.cli.checks import print_checks
from rlscope.cli.counter_check import check_counters
from rlscope.cli.cuda_driver import Driver
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
