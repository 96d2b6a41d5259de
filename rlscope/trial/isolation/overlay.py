"""The side of `rlscope try` of a trial in name spaces of its own: how it starts, and what it would have overwritten."""

import json
import os
import secrets
import socket
import stat
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

_START = Path(__file__).with_name("start.py")
_OPAQUE = ("user.overlay.opaque", "trusted.overlay.opaque")


class NoNameSpace(Exception):
    """The system gives this user no name space of its own in which the trial could write; says why."""


class Overlay:
    """Name spaces in which what is written lies in memory that nobody else sees.

    Trials hand that memory over by a socket without a name in any folder. It is freed when both are gone, however they
    ended.
    """

    kind = "overlay"

    def __init__(self, folders: Sequence[Path], network: bool) -> None:
        status = folders[0].stat()
        if os.geteuid() and (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
            raise NoNameSpace(f"{folders[0]} belongs to another user or group, which a user's overlay cannot keep")
        self._folders, self._network = folders, network
        self.environment: dict[str, str] = {}
        self._written: list[tuple[Path, Path]] = []
        self._held: list[tuple[socket.socket, int]] = []
        self._address = f"rlscope-try-{secrets.token_hex(16)}"
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(f"\0{self._address}")
        self._socket.listen(16)
        self._socket.setblocking(False)
        tried = subprocess.run(self.command([]), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if tried.returncode:
            self.close()
            raise NoNameSpace((tried.stderr.strip().splitlines() or [f"status {tried.returncode}"])[-1])

    def command(self, command: Sequence[str]) -> list[str]:
        """Return what to start instead of a command."""
        network = "network" if self._network else "loopback"
        folders = json.dumps([str(folder) for folder in self._folders])
        return [sys.executable, "-I", "-S", "-B", str(_START), self._address, folders, network, *command]

    def overwritten(self) -> Iterator[Path]:
        """Yield the real files that would have been changed or removed, each as often as a trial did."""
        self._take_written()
        for folder, written in self._written:
            yield from _overwritten(written, folder, hidden=False)

    def close(self) -> None:
        """End trials that are left, and free what they wrote."""
        for asker, memory in self._held:
            asker.close()
            os.close(memory)
        self._socket.close()

    def _take_written(self) -> None:
        """Take over what trials have sent: real folders, and what was written to each."""
        while True:
            try:
                asker, _ = self._socket.accept()
            except BlockingIOError:
                return
            _, user, _ = struct.unpack("3i", asker.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            said, opened, _, _ = socket.recv_fds(asker, 1 << 16, 1) if user == os.getuid() else (b"", [], 0, None)
            if not opened:  # it failed before, and said why
                asker.close()
                continue
            self._held.append((asker, opened[0]))  # a trial ends when its connection does
            for number, folder in enumerate(json.loads(said)):
                self._written.append((Path(folder), Path(f"/proc/self/fd/{opened[0]}/{number}/up")))


def _overwritten(written: Path, real: Path, hidden: bool) -> Iterator[Path]:
    """Yield the files of a folder that would not be what they are.

    Args:
        written: What an overlay holds of the folder: each new, changed or moved entry, and a device for a removed one.
        real: The folder.
        hidden: It was removed and made again, so nothing of before shows.
    """
    hidden = hidden or any(_attribute(written, name) == b"y" for name in _OPAQUE)
    found, before = _entries(written), _entries(real)
    for name in before if hidden else before.keys() & found.keys():
        if name not in found:
            yield from _files(real / name)
        elif stat.S_ISDIR(found[name].st_mode) and stat.S_ISDIR(before[name].st_mode):
            yield from _overwritten(written / name, real / name, hidden)
        elif not _same(found[name], before[name]):
            yield from _files(real / name)


def _entries(folder: Path) -> dict[str, os.stat_result]:
    """Return what is in a folder; nothing where others have removed it meanwhile, as in /tmp."""
    try:
        with os.scandir(folder) as entries:
            return {entry.name: entry.stat(follow_symlinks=False) for entry in entries}
    except OSError:
        return {}


def _same(one: os.stat_result, other: os.stat_result) -> bool:
    """Return whether a file was opened to be written and not written: the overlay holds an equal copy then."""
    return (one.st_mode, one.st_size, one.st_mtime_ns) == (other.st_mode, other.st_size, other.st_mtime_ns)


def _files(path: Path) -> Iterator[Path]:
    """Yield a file, or all files in a folder."""
    if path.is_symlink() or not path.is_dir():
        yield path
        return
    for folder, _, names in os.walk(path):
        yield from (Path(folder, name) for name in names)


def _attribute(path: Path, name: str) -> bytes:
    try:
        return os.getxattr(path, name)
    except OSError:
        return b""
