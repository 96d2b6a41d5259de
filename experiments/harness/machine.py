"""This file describes the machine, as far as it explains a time."""

import platform
from functools import cache

from rlscope.record.run.machine import machine


def machine_and_gpus() -> dict[str, object]:
    """Return the processor, memory and kernel of this machine, as a trace has them, and its GPUs."""
    found = machine()
    known = {name: found[name] for name in ("cpu", "cores", "memory_bytes", "kernel")}
    return known | {"cpu": known["cpu"] or platform.machine()} | gpus()


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
