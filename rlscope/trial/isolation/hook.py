"""Ends a trial in a copy that would change something elsewhere: an audit hook, for each Python of the trial."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as `typing` has it, whose import takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

#: Where a trial may write, and whether it may connect to other machines; each process of it has them.
FOLDER_VARIABLE, NETWORK_VARIABLE = "RLSCOPE_TRIAL_FOLDER", "RLSCOPE_TRIAL_NETWORK"
#: The status with which it ends a trial.
ENDED = 125
#: Which arguments of an event are paths, and which the opened folders that they begin at.
_CHANGES = {
    "os.remove": ((0, 1),), "os.rmdir": ((0, 1),), "os.mkdir": ((0, 2),), "os.rename": ((0, 2), (1, 3)),
    "os.link": ((0, 2), (1, 3)), "os.symlink": ((1, 2),), "os.truncate": ((0, None),), "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),), "os.utime": ((0, 3),), "os.setxattr": ((0, None),), "os.removexattr": ((0, None),),
}  # fmt: skip
#: What these would make is not made where something lies, but refused.
_MAKES = {"os.mkdir", "os.symlink"}
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_CONNECTS = {"socket.connect", "socket.sendto", "socket.sendmsg"}
_ASKS_FOR_ADDRESSES = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}


def install_in_copy() -> None:
    """Install the hook where this process is of a trial in a copy."""
    if folder := os.environ.get(FOLDER_VARIABLE):
        install_audit_hook([folder], network=NETWORK_VARIABLE in os.environ)


def install_audit_hook(allowed_folders: Sequence[str], network: bool = False) -> None:
    """End this process as soon as Python would change a file elsewhere, or connect to another machine.

    Args:
        allowed_folders: In them, and in those of devices and of processes, everything goes.
        network: It may connect to other machines.
    """
    allowed = [os.path.realpath(folder) + "/" for folder in (*allowed_folders, "/dev", "/proc")]
    event_paths: dict[str, Callable[[Any], Iterator[str]]] = {"open": _opened, "sqlite3.connect": _database}
    event_paths |= {event: _changed(places) for event, places in _CHANGES.items()}

    def look(event: str, arguments: Any) -> None:
        paths = event_paths.get(event)
        if paths is not None:
            for path in paths(arguments):
                is_refused = event in _MAKES and os.path.lexists(path)
                if not is_refused and not f"{path}/".startswith(tuple(allowed)):
                    _end(f"written {path}")
        elif not network and event in _CONNECTS:
            _check_address(arguments[1])
        elif not network and event in _ASKS_FOR_ADDRESSES and not _is_known(arguments[0]):
            _end(f"asked other machines for the address of {arguments[0]}")

    sys.addaudithook(look)


def _end(would_have: str) -> None:
    text = f"rlscope try: a trial in a copy of its folder ends where it would have {would_have}\n"
    os.write(2, text.encode("utf-8", "surrogateescape"))
    os._exit(ENDED)


def _opened(arguments: Any) -> Iterator[str]:
    path, _, flags = arguments
    if flags & _WRITES and not isinstance(path, int):
        yield os.path.realpath(os.fsdecode(path))


def _changed(places: Sequence[tuple[int, int | None]]) -> Callable[[Any], Iterator[str]]:
    def paths(arguments: Any) -> Iterator[str]:
        for place, begins_at in places:
            path = arguments[place]
            if isinstance(path, int):  # opened before, to be written
                continue
            begin = -1 if begins_at is None else arguments[begins_at]
            whole = os.path.join("." if begin == -1 else f"/proc/self/fd/{begin}", os.fsdecode(path))
            folder, name = os.path.split(whole.rstrip("/"))
            yield os.path.join(os.path.realpath(folder), name)

    return paths


def _database(arguments: Any) -> Iterator[str]:
    name = os.fsdecode(arguments[0])
    address, _, options = name.removeprefix("file:").partition("?")
    in_memory = name in ("", ":memory:") or "mode=memory" in options or address == ":memory:"
    if not in_memory and "mode=ro" not in options:
        yield os.path.realpath(address if name.startswith("file:") else name)


def _check_address(address: Any) -> None:
    if isinstance(address, tuple) and not _is_loopback(address[0]):
        _end(f"connected to {address[0]}")


def _is_loopback(host: Any) -> bool:
    return str(host).startswith("127.") or host in ("localhost", "", "0.0.0.0", "::", "::1")


def _is_known(host: Any) -> bool:
    """Return whether the address of a host is found without a question to another machine."""
    name = os.fsdecode(host or "")
    is_number = ":" in name or name.replace(".", "").isdigit()
    return is_number or _is_loopback(name) or name == os.uname().nodename
