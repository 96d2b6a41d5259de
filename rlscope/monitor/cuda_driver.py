"""This file calls the CUDA driver through ctypes, as far as checking a machine needs it."""

import ctypes
import os
import uuid
from pathlib import Path

#: The kernel's part of NVIDIA's driver, which can be seen in containers that have no libcuda.
KERNEL_DRIVER = Path("/proc/driver/nvidia/version")
NO_DEVICE = 100
LIBRARY = "libcuda.so.1"
#: What is not there where cuInit gives NO_DEVICE, and what to do.
NO_USABLE_DEVICE = ("no device that may be used", "see CUDA_VISIBLE_DEVICES")
IN_CONTAINER = "this machine has a GPU; in a container: start it with --gpus all"
COMPUTE_CAPABILITY_MAJOR = 75
COMPUTE_CAPABILITY_MINOR = 76


class CudaError(Exception):
    """A call of the driver that failed.

    Attributes:
        status: Its CUresult.
    """

    def __init__(self, call: str, status: int, meaning: str) -> None:
        super().__init__(f"{call} failed with error {status}: {meaning}")
        self.status = status


def no_library() -> tuple[str, str]:
    """Return what `Driver` did not find where it raised OSError, and what to do; nothing on a machine that has no
    GPU.
    """
    return f"{LIBRARY} was not found", IN_CONTAINER if KERNEL_DRIVER.exists() else ""


class Driver:
    """libcuda, initialised."""

    def __init__(self) -> None:
        """Load and initialise the driver.

        Raises:
            OSError: there is no libcuda.
            CudaError: it cannot be used.
        """
        self._library = ctypes.CDLL(LIBRARY)
        self.call("cuInit", 0)

    def call(self, name: str, *arguments: object) -> None:
        """Call a function of the driver.

        Raises:
            CudaError: it failed.
        """
        status = getattr(self._library, name)(*arguments)
        if status != 0:
            raise CudaError(name, status, self._meaning(status))

    def number(self, name: str, *arguments: object) -> int:
        """Return what a function stores through its first argument, an int."""
        value = ctypes.c_int()
        self.call(name, ctypes.byref(value), *arguments)
        return value.value

    def pointer(self, name: str, *arguments: object) -> ctypes.c_void_p:
        """Return what a function stores through its first argument, a handle or an address."""
        value = ctypes.c_void_p()
        self.call(name, ctypes.byref(value), *arguments)
        return value

    def version(self) -> int:
        """Return the version of CUDA that the driver is made for: 13000 is 13.0."""
        return self.number("cuDriverGetVersion")

    def devices(self) -> list[int]:
        """Return the handles of the devices that this process may use."""
        return [self.number("cuDeviceGet", index) for index in range(self.number("cuDeviceGetCount"))]

    def name(self, device: int) -> str:
        """Return the product's name."""
        name = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", name, len(name), device)
        return os.fsdecode(name.value)

    def uuid(self, device: int) -> str:
        """Return the device's id as nvidia-smi writes it."""
        value = (ctypes.c_ubyte * 16)()
        self.call("cuDeviceGetUuid_v2", value, device)
        prefix = "MIG" if " MIG " in self.name(device) else "GPU"
        return f"{prefix}-{uuid.UUID(bytes=bytes(value))}"

    def compute_capability(self, device: int) -> tuple[int, int]:
        """(9, 0) of a Hopper."""
        major = self.number("cuDeviceGetAttribute", COMPUTE_CAPABILITY_MAJOR, device)
        return major, self.number("cuDeviceGetAttribute", COMPUTE_CAPABILITY_MINOR, device)

    def _meaning(self, status: int) -> str:
        text = ctypes.c_char_p()
        self._library.cuGetErrorString(status, ctypes.byref(text))
        return os.fsdecode(text.value) if text.value else "unknown"
