"""This file is a program that uses every GPU a little; `rlscope.checks.cupti_check` records it."""

import ctypes
import json
import sys

from rlscope import _native
from rlscope.monitor.cuda_driver import CudaError, Driver

OPERATION = "cupti_check"
KERNEL = "rlscope_check"
#: Compiled by the driver for the device at hand; it does nothing.
PTX = f"""
.version 6.0
.target sm_70
.address_size 64
.visible .entry {KERNEL}() {{ ret; }}
""".encode()
BYTES = 1024


def use(driver: Driver, device: int) -> None:
    """Run one kernel, one memset, and one copy that waits for both."""
    context = driver.pointer("cuDevicePrimaryCtxRetain", device)
    driver.call("cuCtxSetCurrent", context)
    module = driver.pointer("cuModuleLoadData", PTX)
    kernel = driver.pointer("cuModuleGetFunction", module, KERNEL.encode())
    memory = driver.pointer("cuMemAlloc_v2", ctypes.c_size_t(BYTES))
    driver.call("cuMemsetD8Async", memory, ctypes.c_ubyte(7), ctypes.c_size_t(BYTES), None)
    driver.call("cuLaunchKernel", kernel, 1, 1, 1, 1, 1, 1, 0, None, None, None)
    copied = ctypes.create_string_buffer(BYTES)
    driver.call("cuMemcpyDtoH_v2", copied, memory, ctypes.c_size_t(BYTES))
    driver.call("cuMemFree_v2", memory)


def is_supported(cupti_path: str, device: int) -> bool | None:
    """Return what libcupti itself says of a device; None where it does not say."""
    supported = ctypes.c_int()
    status = ctypes.CDLL(cupti_path).cuptiDeviceSupported(device, ctypes.byref(supported))
    return bool(supported.value) if status == 0 else None


def main() -> None:
    """Print what the recorder says of itself, as JSON."""
    driver = Driver()
    try:
        with _native.operation(OPERATION):
            for device in driver.devices():
                use(driver, device)
    except CudaError as error:
        sys.exit(str(error))
    status = _native.cuda_status()
    path = status["cupti_path"]
    supported = [is_supported(path, device) for device in driver.devices()] if path else []
    print(json.dumps({"status": status, "supported": supported}))


if __name__ == "__main__":
    main()
