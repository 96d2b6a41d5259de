"""Which machine this is, and since when: the same id means the same clocks."""

from pathlib import Path

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> str:
    """A random number that the kernel chose when this machine was started."""
    return BOOT_ID.read_text(encoding="ascii").strip()
