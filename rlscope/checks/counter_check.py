"""This file checks that hardware counters can be read on this machine: it asks CUPTI, then tries."""

from rlscope.checks.check import Check
from rlscope.monitor.counter_device import CounterDevice, CounterHost, explain
from rlscope.monitor.cuda_driver import Driver
from rlscope.monitor.cupti_profiler import PM_SAMPLING_API, Cupti, CuptiError
from rlscope.trace.counter_metrics import ACTIVE_CYCLES

#: CUPTI's ways to profile, by its number of them.
WAYS = {0: "ranges", 1: "samples of instructions", 2: "instructions by source", PM_SAMPLING_API: "sampled counters"}
INTERVAL_NS = 1_000_000
#: The first compute capability whose hardware takes the times of kernels itself.
HARDWARE_TIMES = 10


def check_counters(driver: Driver, devices: list[int], cupti_path: str) -> list[Check]:
    """Return what CUPTI says of each way to profile, whether counters can be sampled, and who takes the times of
    kernels.
    """
    try:
        cupti = Cupti(cupti_path)
    except (OSError, CuptiError) as error:
        return [Check("counters", None, f"not read: {error}", "pip install nvidia-cuda-cupti of the driver's CUDA")]
    return [
        *(_check_device(driver, cupti, index, handle) for index, handle in enumerate(devices)),
        _check_times(driver, cupti, devices),
    ]


def _check_device(driver: Driver, cupti: Cupti, index: int, handle: int) -> Check:
    name = f"{index}: {driver.name(handle)}"
    refused = {way: cupti.support(handle, api) for api, way in WAYS.items()}
    said = "; ".join(f"{way}: not with this {', '.join(why)}" for way, why in refused.items() if why)
    try:
        host = CounterHost(cupti, index)
        CounterDevice(host, index, [ACTIVE_CYCLES], INTERVAL_NS).close()
    except CuptiError as error:
        fix = explain(error, refused[WAYS[PM_SAMPLING_API]])
        return Check("counters", None, f"not read of {name}" + (f" ({said})" if said else ""), fix)
    return Check("counters", True, f"can be sampled on {name} ({host.chip})" + (f"; {said}" if said else ""))


def _check_times(driver: Driver, cupti: Cupti, devices: list[int]) -> Check:
    """Return said only: recording takes the times of kernels as CUPTI gives them by default."""
    least = min(driver.compute_capability(device) for device in devices)
    if not cupti.has("cuptiActivityEnableHWTrace"):
        return Check("times", None, "of kernels are taken by CUPTI: this libcupti is older than 12.8")
    if least[0] < HARDWARE_TIMES:
        found = f"compute capability {least[0]}.{least[1]}, the hardware does it from {HARDWARE_TIMES}.0 on"
        return Check("times", None, f"of kernels are taken by CUPTI: {found}")
    return Check("times", None, "of kernels could be taken by the hardware here; recording has CUPTI do it")
