"""The boot id says which machine this is, and since when: the same id means the same clocks."""

BOOT_ID = "/proc/sys/kernel/random/boot_id"


def boot_id() -> str | None:
    """Return the random number that the kernel chose when this machine was started; None where it does not tell."""
    try:
        with open(BOOT_ID, encoding="ascii") as file:
            return file.read().strip() or None
    except OSError:  # as in a sandbox without /proc
        return None


def stored_boot_id(text: str) -> bytes:
    """Return the boot id `text` as the headers of process files hold it.

    Raises:
        ValueError: it is no boot id.
    """
    return bytes.fromhex(text.replace("-", ""))
