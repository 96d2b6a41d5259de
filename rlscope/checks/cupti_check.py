"""This file checks that the work of GPUs can be recorded, step by step; the last step is to record some."""

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlscope.checks.check import Check, exit_status, print_checks
from rlscope.checks.counter_check import check_counters
from rlscope.checks.cupti_probe import KERNEL, OPERATION
from rlscope.errors import RLScopeError
from rlscope.monitor.cuda_driver import NO_DEVICE, NO_USABLE_DEVICE, CudaError, Driver, no_library
from rlscope.text import cuda_version

CPU_ONLY = "CPU-only mode: everything but GPUs is recorded"
#: What to do about errors of cuInit that mean something special.
FIXES = {
    802: "start the fabric manager that connects the GPUs: systemctl start nvidia-fabricmanager",
    803: "libcuda and the loaded kernel module are of different versions: restart the machine, or the container",
    804: "this GPU cannot use the compatibility libcuda: take its folder out of LD_LIBRARY_PATH",
}
SUPPORTED = "CUDA 12: 7.0 and up; CUDA 13: 7.5 and up"
NEWEST_MAJOR_BY_SMALL_NUMBERS = 12
PATIENCE_S = 120


@dataclass(frozen=True)
class Found:
    """This is what the recorded program did and what was recorded of it.

    Attributes:
        status: What the recorder said, as from `_native.cuda_status()`.
        supported: Per device, whether libcupti supports it, None where it does not say.
        missing: What should be in the trace and is not.
    """

    status: dict[str, Any]
    supported: list[bool | None]
    missing: list[str]


def check_cuda() -> list[Check]:
    """Check driver, devices, libcupti, tracing and counters; return one line only where there is no GPU."""
    try:
        driver = Driver()
        version, devices = driver.version(), driver.devices()
    except OSError:
        return [_cpu_only(*no_library())]
    except CudaError as error:
        if error.status == NO_DEVICE:
            return [_cpu_only(*NO_USABLE_DEVICE)]
        return [Check("driver", False, str(error), FIXES.get(error.status, "nvidia-smi says what the driver lacks"))]
    if not devices:
        return [_cpu_only("no device", "")]
    known = Check("driver", True, f"for CUDA {cuda_version(version)}")
    found = record_probe(len(devices))
    if isinstance(found, Check):
        return [known, found]
    checks = [known, check_devices(driver, devices, found), check_libcupti(version, found), check_tracing(found)]
    path = found.status["cupti_path"]
    return checks + check_counters(driver, devices, path) if path else checks


def _cpu_only(found: str, fix: str) -> Check:
    return Check("driver", None, f"{found}. {CPU_ONLY}", fix)


def check_devices(driver: Driver, devices: list[int], found: Found) -> Check:
    """Return what libcupti says of each device."""
    names, refused = [], []
    for index, device in enumerate(devices):
        major, minor = driver.compute_capability(device)
        names.append(f"{index}: {driver.name(device)} ({major}.{minor})")
        if found.supported[index : index + 1] == [False]:
            refused.append(names[-1])
    if not refused:
        return Check("devices", True, ", ".join(names))
    return Check(
        "devices",
        False,
        f"libcupti does not support {', '.join(refused)}",
        f"libcupti supports, by compute capability, of {SUPPORTED}; install the one that fits",
    )


def check_libcupti(driver_version: int, found: Found) -> Check:
    """Return which libcupti it is and whether the driver is new enough for it."""
    path, version = found.status["cupti_path"], found.status["cupti_version"]
    wanted = driver_version // 1000
    package = "nvidia-cuda-cupti" if wanted >= 13 else f"nvidia-cuda-cupti-cu{wanted}"
    if not path:
        return Check("libcupti", False, "none was found", f"pip install {package}")
    major = _cuda_major(version)
    if major > wanted:
        return Check(
            "libcupti",
            False,
            f"{path} is of CUDA {major}, the driver for CUDA {cuda_version(driver_version)}",
            f"update the driver, or pip install {package} and remove the newer one",
        )
    return Check("libcupti", True, f"{path}, of CUDA {major}, version {version}")


def check_tracing(found: Found) -> Check:
    """Return whether what was done came back, and with who did it."""
    error, state = found.status["error"], found.status["state"]
    if state != "recording":
        return Check(
            "tracing",
            False,
            error or f"the recorder did not start: {state}",
            "end other tools that profile this program (nsys, ncu), and unset CUDA_INJECTION64_PATH",
        )
    if found.missing:
        return Check(
            "tracing",
            False,
            f"recorded without {', '.join(found.missing)}",
            "run `rlscope record -o trace -- python -m rlscope.checks.cupti_probe` and report what "
            "`rlscope inspect trace` shows",
        )
    return Check("tracing", True, "a kernel, a memset, a copy and their launching calls were recorded on each device")


def record_probe(devices: int) -> Found | Check:
    """Record a small program that uses each device, a Check if even that failed."""
    with tempfile.TemporaryDirectory(prefix="rlscope-check-") as directory:
        trace = Path(directory, "trace")
        command = [sys.executable, "-m", "rlscope", "record", "--no-auto", "--layers", "cuda", "-o", str(trace), "--"]
        command += [sys.executable, "-m", "rlscope.checks.cupti_probe"]
        try:
            finished = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        except subprocess.TimeoutExpired:
            return Check("tracing", False, f"a small program had not ended after {PATIENCE_S} s", "see nvidia-smi")
        if finished.returncode != 0:
            said = [line for line in finished.stderr.splitlines() if line and not line.startswith("rlscope:")]
            why = said[-1] if said else f"it ended with status {finished.returncode}"
            return Check("tracing", False, f"a small program could not use the GPU: {why}", "see nvidia-smi")
        answer = json.loads(finished.stdout.splitlines()[-1])
        return Found(answer["status"], answer["supported"], missing_work(trace, devices))


def missing_work(trace: Path, devices: int) -> list[str]:
    """Return what the program did on each device that its trace does not hold."""
    from rlscope.analysis.analysis import analyze
    from rlscope.analysis.contents import read_contents
    from rlscope.trace.reader import open_trace

    try:
        opened = open_trace(trace)
        work = analyze(opened).device_work
        calls = [row.call for row in read_contents(opened).cuda_calls]
    except RLScopeError as error:
        return [f"a trace that can be read ({error})"]
    missing = []
    for what, name in (("the kernel", KERNEL), ("the memset", "memset"), ("the copy", "memcpy DtoH")):
        rows = [row for row in work if name in row.name]
        if len({row.device for row in rows}) < devices:
            missing.append(f"{what} of every device")
        elif any(row.operation != OPERATION for row in rows):
            missing.append(f"who launched {what}")
    missing += [call for call in ("cuLaunchKernel", "cuMemcpyDtoH") if not any(each.startswith(call) for each in calls)]
    return missing


def _cuda_major(cupti_version: int) -> int:
    """Return the major version of CUDA that a libcupti belongs to: 28 is of CUDA 12, 130001 of 13."""
    return cupti_version // 10000 if cupti_version >= 10000 else NEWEST_MAJOR_BY_SMALL_NUMBERS


def main() -> None:
    """Print the lines; exit status 1 where a GPU is there that cannot be recorded."""
    checks = check_cuda()
    print_checks(checks)
    sys.exit(exit_status(checks))


if __name__ == "__main__":
    main()
