"""A CUDA driver of our own, which knows as many devices as it is told to, for tests on machines without one."""

import subprocess
from pathlib import Path

DRIVER = """
#include <string.h>
int cuInit(unsigned flags) { return STATUS; }
int cuGetErrorString(int status, const char** text) { *text = "made to fail"; return 0; }
int cuDriverGetVersion(int* version) { *version = VERSION; return 0; }
int cuDeviceGetCount(int* count) { *count = COUNT; return 0; }
int cuDeviceGet(int* device, int index) { *device = index; return 0; }
int cuDeviceGetName(char* name, int size, int device) { strncpy(name, "Fake GPU", size); return 0; }
int cuDeviceGetAttribute(int* value, int attribute, int device) { *value = attribute == 75 ? 9 : 0; return 0; }
int cuDeviceGetUuid_v2(char* uuid, int device) { memset(uuid, 0xab + device, 16); return 0; }
int cuDevicePrimaryCtxRetain(void** context, int device) { return 2; }
"""


def compile_driver(folder: Path, count: int = 1, version: int = 13000, status: int = 0) -> None:
    """Put it into a folder; `status` is what it says when it is to begin."""
    settings = [f"-DCOUNT={count}", f"-DVERSION={version}", f"-DSTATUS={status}"]
    command = ["c++", "-shared", "-fPIC", "-w", "-x", "c++", "-", "-o", str(folder / "libcuda.so.1"), *settings]
    subprocess.run(command, input=f'extern "C" {{{DRIVER}}}', text=True, check=True)
