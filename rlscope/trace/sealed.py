"""Files beside the events carry checksums, so that a bit that flipped in one is an error and not another number."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from typing import Any

from rlscope.errors import TraceFormatError
from rlscope.trace.files import MOST_JSON_BYTES, open_regular, read_regular

_KEY = "crc32"
_BLOCK_BYTES = 1 << 20
_MOST_BYTES = 1 << 40


def seal(content: dict[str, Any]) -> str:
    """Return JSON of an object, with the checksum of all else in it as its last key."""
    return json.dumps({**content, _KEY: _crc32_of(content)}, indent=2) + "\n"


def unsealed(content: dict[str, Any], path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the object that was read from `path` without its checksum, which files of older versions have not.

    Raises:
        TraceFormatError: it is not what was written.
    """
    rest = {key: value for key, value in content.items() if key != _KEY}
    if _KEY in content and content[_KEY] != _crc32_of(rest):
        raise TraceFormatError(
            f"{path} is not as rlscope wrote it: its checksum is {content[_KEY]}, that of what it holds is "
            f"{_crc32_of(rest)}; take a copy that is whole, or delete it"
        )
    return rest


def _crc32_of(content: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(content, indent=2).encode())


def read_sealed(path: Path) -> dict[str, Any] | None:
    """Return the object that a file holds, as `seal` wrote it; None where there is no file.

    Raises:
        TraceFormatError: it is no JSON object, not what was written, or no regular file.
        OSError: it cannot be read.
    """
    try:
        text = read_regular(path, MOST_JSON_BYTES).decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise TraceFormatError(f"{path} is not UTF-8 at byte {error.start}; delete it and analyze again") from error
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TraceFormatError(f"{path} is not JSON: {error}; delete it and analyze again") from error
    if not isinstance(content, dict):
        raise TraceFormatError(f"{path} holds no JSON object; delete it and analyze again")
    return unsealed(content, path)


def crc32_of_file(path: Path) -> int:
    """Return the CRC-32 of all bytes of a file."""
    crc = 0
    with open_regular(path, _MOST_BYTES) as file:
        while block := file.read(_BLOCK_BYTES):
            crc = zlib.crc32(block, crc)
    return crc


def check_files(directory: Path, checksums: object) -> None:
    """Check the files of a trace against what its manifest says of them. One that is gone is nobody's loss.

    Args:
        directory: of the trace.
        checksums: from the manifest; None where the run goes on, or was recorded by an older version.

    Raises:
        TraceFormatError: a file is another one.
        OSError: a file cannot be read.
    """
    for name, expected in checksums.items() if isinstance(checksums, dict) else ():
        path = directory / Path(name).name
        if path.exists() and (found := crc32_of_file(path)) != expected:
            raise TraceFormatError(
                f"{path} is not as rlscope wrote it: the manifest says its checksum is {expected}, and it is {found}; "
                "take a copy that is whole, or delete it"
            )
