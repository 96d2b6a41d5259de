"""This file describes the machine, as far as it explains a time."""

import os
import platform
from functools import cache
from pathlib import Path

import psutil


def machine() -> dict[str, object]:
    """Return the processor, memory, kernel and GPUs of this machine."""
    models = [
        line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
    ]
    return {
        "cpu": models[0] if models else platform.machine(),
        "cores": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "kernel": platform.release(),
        **gpus(),
    }


@cache
def gpus() -> dict[str, object]:
    """Return the names of the GPUs and the version of their driver; nothing where there is none."""
    import pynvml

    try:
        pynvml.nvmlInit()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
        names = [str(pynvml.nvmlDeviceGetName(handle)) for handle in handles]
        return {"gpus": names, "driver": str(pynvml.nvmlSystemGetDriverVersion())} if names else {}
    except pynvml.NVMLError:
        return {}
