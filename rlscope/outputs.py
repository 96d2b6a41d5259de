"""This file writes what a user names: whole or not at all, and in the place of nothing that rlscope did not write."""

import errno
import os
import shutil
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rlscope.errors import UsageError

#: Stands in each file whose format has a place for it, near its begin or its end.
MARK = "written by rlscope, which may replace it"
#: So much of a file is looked at, from each end.
LOOKED_AT_BYTES = 1 << 16
GZIP_MAGIC = b"\x1f\x8b"
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def is_marked(begin: bytes, end: bytes) -> bool:
    """Tell by the begin and the end of a file whether it has the mark."""
    return MARK.encode() in begin or MARK.encode() in end


#: Tells by the begin and the end of a file whether rlscope wrote it.
Known = Callable[[bytes, bytes], bool]


class Output:
    """A file that is to be written where the user says.

    Args:
        path: Of the file. What is there has to be rlscope's, or a device or a pipe, which is written to as it is.
        is_forced: Whether anything is replaced but a directory.
        is_known: Tells rlscope's files where the format has no place for a mark.

    Raises:
        UsageError: something else is there.
    """

    def __init__(self, path: Path, is_forced: bool, is_known: Known = is_marked) -> None:
        self.path = path
        self._is_forced = is_forced
        self._is_known = is_known
        self._check()

    @contextmanager
    def writing(self) -> Iterator[Path]:
        """Give a path to write a new file to. It takes its place at the end, and is removed where that fails.

        Raises:
            UsageError: something else was put there meanwhile.
        """
        if _is_stream(self.path):
            yield self.path
            return
        unfinished = self.path.with_name(f".{os.getpid()}.{self.path.name}")  # its ending says the format
        try:
            with _named(self.path):
                _remove(unfinished)
                os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
            yield unfinished
            self._check()
            unfinished.replace(self.path)
        except BaseException:
            with suppress(OSError):
                _remove(unfinished)
            raise

    def _check(self) -> None:
        if self.path.is_dir():
            raise UsageError(f"{self.path}: expected a file or nothing, found a directory. Give another -o")
        if not (self._is_forced or _is_stream(self.path) or is_own(self.path, self._is_known)):
            raise _not_ours(self.path)


class OutputFolder:
    """A folder of files that is to be written where the user says.

    Args:
        path: Of the folder.
        is_forced: Whether files are replaced that are not rlscope's.
        page: The name of a page with the mark. In a folder that has one, tables are rlscope's.
        is_alone: Whether the folder may hold nothing but rlscope's files, which new ones take the place of. Else it may
            hold anything that is in the way of none.

    Raises:
        UsageError: something else is there.
    """

    def __init__(self, path: Path, is_forced: bool, page: str = "", is_alone: bool = False) -> None:
        if path.exists() and not path.is_dir():
            raise UsageError(f"{path}: expected a directory or nothing, found a file. Give another -o")
        self.path = path
        self._is_forced = is_forced
        self._page = page
        self._old: list[Path] = []
        if is_alone and path.is_dir() and not is_forced:
            self._old = list(self._only_own_files())

    def _only_own_files(self) -> Iterator[Path]:
        for file in self.path.rglob("*"):
            if file.is_dir() or _is_hidden(file, self.path):
                continue
            if not is_own(file):
                raise UsageError(
                    f"{self.path} holds what rlscope did not write: {file.relative_to(self.path)}; give another -o, or "
                    "write to it with --force"
                )
            yield file

    def check(self, *names: str) -> None:
        """Refuse before the work what is in the way of these files.

        Raises:
            UsageError: there is something that rlscope did not write.
        """
        for path in (self.path / name for name in names):
            if path.is_dir():
                raise UsageError(f"{path}: expected a file or nothing, found a directory. Give another -o")
            if not self._is_forced and not is_own(path) and not self._is_table(path):
                raise _not_ours(path)

    def _is_table(self, path: Path) -> bool:
        """Tell whether it is the table of a page beside it: such files have no place for a mark."""
        page = self.path / self._page
        return path.suffix == ".csv" and not path.is_symlink() and page.is_file() and is_own(page)

    @contextmanager
    def writing(self) -> Iterator[Path]:
        """Give a folder to write new files to, which take their places together once all are there.

        Raises:
            UsageError: something else is in their way. Then none has been replaced.
        """
        is_there = self.path.is_dir()
        # Inside of one that is there: it may be a disk of its own, and the one around it closed.
        unfinished = (self.path if is_there else self.path.parent) / f".{os.getpid()}.{self.path.name}"
        try:
            with _named(self.path):
                _remove(unfinished)
                unfinished.mkdir(parents=True)
            yield unfinished
            if is_there:
                self._take_over(unfinished)
            else:
                unfinished.replace(self.path)
        except BaseException:
            with suppress(OSError):
                _remove(unfinished)
            raise

    def _take_over(self, unfinished: Path) -> None:
        names = sorted(str(file.relative_to(unfinished)) for file in unfinished.rglob("*") if not file.is_dir())
        self.check(*names)
        for name in names:
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (unfinished / name).replace(self.path / name)
        for file in {*self._old} - {self.path / name for name in names}:
            file.unlink(missing_ok=True)
        _remove(unfinished)


def is_own(path: Path, is_known: Known = is_marked) -> bool:
    """Tell whether nothing is lost with what is at a path: nothing is there, an empty file, or one of rlscope's."""
    try:
        descriptor = os.open(path, _READ)
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EACCES, errno.ENXIO):  # a link, one of somebody else, a socket
            return False
        raise
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return False
        begin = file.read(LOOKED_AT_BYTES)
        if not begin.strip() and status.st_size <= LOOKED_AT_BYTES:
            return True
        file.seek(max(status.st_size - LOOKED_AT_BYTES, 0))
        return is_known(_unpacked(begin), file.read(LOOKED_AT_BYTES))


def _unpacked(begin: bytes) -> bytes:
    """Return the begin of what a compressed file holds; that of others as it is."""
    if begin.startswith(GZIP_MAGIC):
        with suppress(zlib.error):
            return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(begin, LOOKED_AT_BYTES)
    return begin


def _is_stream(path: Path) -> bool:
    """Tell whether it is a terminal, a pipe or /dev/null, or leads to an open file as /dev/stdout does."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    if stat.S_ISREG(mode):
        leads_to = os.readlink(path) if path.is_symlink() else ""
        return leads_to.startswith("/proc/") or os.path.realpath(path.parent).startswith("/proc/")
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def _is_hidden(file: Path, folder: Path) -> bool:
    """Tell whether it is none of ours: we write no such names but of files that are not whole."""
    return any(part.startswith(".") for part in file.relative_to(folder).parts)


def _not_ours(path: Path) -> UsageError:
    return UsageError(f"{path} is there, and rlscope did not write it; give another name, or replace it with --force")


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Let what the system refuses name the path that the user knows."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        raise


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
