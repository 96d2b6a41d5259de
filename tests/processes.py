"""What tests ask of processes, and wait for."""

import time
from collections.abc import Callable

import psutil


def is_alive(pid: int) -> bool:
    """Whether the process goes on; one that has ended and is not waited for does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def until(is_so: Callable[[], object], seconds: float = 100) -> None:
    """Wait for a condition."""
    end_s = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end_s, "what a test waits for did not come"
        time.sleep(0.02)
