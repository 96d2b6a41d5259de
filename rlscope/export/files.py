"""This file writes exported files under a temporary name, and gives them their own once they are whole."""

import gzip
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

#: Nearly as small as the slowest level for files of events, in a fifth of its time.
GZIP_LEVEL = 1


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path beside `path` to write a file or a folder to, which takes its place at the end.

    It is removed where that fails.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    _remove(unfinished)
    try:
        yield unfinished
        unfinished.replace(path)
    except BaseException:
        _remove(unfinished)
        raise


@contextmanager
def written(path: Path) -> Iterator[IO[bytes]]:
    """Give a file to write to, which is compressed where `path` ends in .gz."""
    with replacing(path) as unfinished, unfinished.open("xb") as file:
        if path.suffix != ".gz":
            yield file
            return
        # Without a name and a time in it, so that equal runs make equal files.
        with gzip.GzipFile("", "wb", GZIP_LEVEL, file, mtime=0) as packed:
            yield cast(IO[bytes], packed)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
