"""A trial runs in a copy of its working folder where the system gives no name spaces."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from rlscope.errors import reason_of
from rlscope.trial.isolation.hook import FOLDER_VARIABLE, NETWORK_VARIABLE
from rlscope.trial.isolation.kept import remove

_PROGRAM = (sys.executable, "-I", "-S", "-B", str(Path(__file__).with_name("kept.py")))
#: Of what is free, so much may be filled.
_LARGEST_SHARE = 0.5


class CannotCopy(Exception):
    """The working folder cannot be copied; says why."""


class Copy:
    """A copy of a folder, which another process removes, so that it goes however this one ends.

    Virtual environments are links in it, for they are large and only read.
    """

    kind = "copy"

    def __init__(self, folder: Path, network: bool) -> None:
        self._folder = folder
        self._linked: list[Path] = []
        self._check_size()
        pipe = subprocess.PIPE
        self._keeper = subprocess.Popen([*_PROGRAM, "keep"], stdin=pipe, stdout=pipe, start_new_session=True)
        assert self._keeper.stdout is not None
        self._kept = kept = Path(os.fsdecode(self._keeper.stdout.readline().rstrip(b"\n")))
        self._copy = kept / "copy" / folder.name
        self.environment = {FOLDER_VARIABLE: str(kept), "TMPDIR": str(kept / "temporary")}
        self.environment["PYTHONDONTWRITEBYTECODE"] = "1"  # it would lie beside modules that are elsewhere
        if network:
            self.environment[NETWORK_VARIABLE] = "1"
        try:
            (kept / "temporary").mkdir()
            self._before = self._fill()
        except OSError as error:
            self.close()
            several = isinstance(error, shutil.Error)
            raise CannotCopy(error.args[0][0][2] if several else reason_of(error)) from None

    def _check_size(self) -> None:
        size = 0
        for inner, folders, names in os.walk(self._folder):
            size += sum(os.lstat(os.path.join(inner, name)).st_size for name in names)
            folders[:] = [name for name in folders if not _is_environment(Path(inner, name))]
        free = shutil.disk_usage(tempfile.gettempdir()).free
        if size > free * _LARGEST_SHARE:
            raise CannotCopy(f"it holds {size / 1e9:.1f} GB, of {free / 1e9:.1f} GB free in {tempfile.gettempdir()}")

    def _fill(self) -> dict[Path, tuple[int, int, int]]:
        """Copy the folder, and return how the files of the copy are."""
        shutil.copytree(self._folder, self._copy, symlinks=True, ignore=self._left_out)
        for path in self._linked:
            os.symlink(path, self._copy / path.relative_to(self._folder))
        before = {}
        for path in _files(self._copy):
            relative = path.relative_to(self._copy)
            if path.is_symlink() and not os.path.isabs(os.readlink(path)):
                target = Path(os.path.normpath(self._folder / relative.parent / os.readlink(path)))
                if not target.is_relative_to(self._folder):  # it would lead elsewhere from here
                    path.unlink()
                    path.symlink_to(target)
            before[relative] = _state(path)
        return before

    def _left_out(self, folder: str, names: Sequence[str]) -> set[str]:
        """Return what is not copied: virtual environments, pipes, sockets, devices, and the copy itself."""
        environments = [Path(folder, name) for name in names if _is_environment(Path(folder, name))]
        self._linked += environments
        kinds = {name: stat.S_IFMT(os.lstat(os.path.join(folder, name)).st_mode) for name in names}
        others = {name for name, kind in kinds.items() if kind not in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK)}
        return others | {path.name for path in (*environments, self._kept) if path.parent == Path(folder)}

    def command(self, command: Sequence[str]) -> list[str]:
        """Return what to start instead of a command; words that are paths in the folder lead into the copy."""
        words = [
            str(self._copy / Path(word).relative_to(self._folder)) if Path(word).is_relative_to(self._folder) else word
            for word in command
        ]
        return [*_PROGRAM, "enter", str(self._folder), str(self._copy), *words]

    def overwritten(self) -> Iterator[Path]:
        """Yield the real files that would have been changed or removed."""
        for relative, state in self._before.items():
            path = self._copy / relative
            if not os.path.lexists(path) or _state(path) != state:
                yield self._folder / relative

    def close(self) -> None:
        """End the processes of the trial that are left, and remove the copy."""
        self._keeper.communicate()
        if self._kept.exists():  # who ended all processes below this one ended the keeper
            remove(str(self._kept))


def _is_environment(path: Path) -> bool:
    return (path / "pyvenv.cfg").is_file() or (path / "conda-meta").is_dir()


def _files(folder: Path) -> Iterator[Path]:
    """Yield all in a folder but folders."""
    for inner, folders, names in os.walk(folder):
        yield from (Path(inner, name) for name in names)
        yield from (Path(inner, name) for name in folders if os.path.islink(os.path.join(inner, name)))


def _state(path: Path) -> tuple[int, int, int]:
    status = path.lstat()
    return status.st_mode, status.st_size, status.st_mtime_ns
