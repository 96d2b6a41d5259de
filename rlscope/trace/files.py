"""This file opens the files of a trace, which may come from anywhere: regular files alone, of a size that can be."""

from __future__ import annotations

import errno
import os
import stat

from rlscope.errors import TraceFormatError

TYPE_CHECKING = False  # as `typing` has it, whose import every recorded process would pay for
if TYPE_CHECKING:
    from typing import BinaryIO

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
#: What opening a link, or a socket, ends with.
_NO_FILE = (errno.ELOOP, errno.ENXIO)
#: Each recorded process has a file PID-N with this suffix.
PROCESS_FILE_SUFFIX = ".rlscope"
#: A manifest has the words of a command, usually 2 MB at most, of which JSON may make six times as much.
MOST_JSON_BYTES = 1 << 24


def open_regular(path: str | os.PathLike[str], most_bytes: int) -> BinaryIO:
    """Open a file for reading. A pipe or a device, at which reading would wait or never end, is refused, as is a link.

    Args:
        path: of the file.
        most_bytes: A larger file is refused.

    Raises:
        TraceFormatError: it is no regular file, or too large.
        OSError: there is none, or it may not be read.
    """
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError as error:
        if error.errno in _NO_FILE:
            raise _no_regular_file(path) from None
        raise
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode) and status.st_size <= most_bytes:
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise _no_regular_file(path)
    raise TraceFormatError(
        f"at most {most_bytes:,} bytes were expected in {path}, but it has {status.st_size:,}; delete it and analyze "
        "again"
    )


def read_regular(path: str | os.PathLike[str], most_bytes: int) -> bytes:
    """Return what is in a file; refused as by `open_regular`. Of one that grows meanwhile, what there was at first.

    Raises:
        TraceFormatError: it is no regular file, or too large.
        OSError: there is none, or it may not be read.
    """
    with open_regular(path, most_bytes) as file:
        return file.read(os.fstat(file.fileno()).st_size)


def _no_regular_file(path: str | os.PathLike[str]) -> TraceFormatError:
    return TraceFormatError(
        f"{os.fspath(path)} is no regular file; delete it, or put the file itself there, and analyze again"
    )
