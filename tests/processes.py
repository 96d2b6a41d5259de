"""What tests ask of processes that they did not start themselves."""

import psutil


def is_alive(pid: int) -> bool:
    """Whether the process goes on; one that has ended and is not waited for does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
