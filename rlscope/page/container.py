"""Packs what a page holds: a JSON header and typed arrays behind it, deflated, as text of base64.

Behind the deflation lies `u32 length of the header | header | zeros up to a multiple of 8 | arrays`. Each array begins
at a multiple of 8. It lies there byte by byte: of the numbers 0x0102 and 0x0304 first 02 and 04, the lowest bytes, then
01 and 03. Bytes that are alike then lie together, and deflate to less. The header says of each array its name, type,
offset from the first array and count.
"""

import base64
import json
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

ALIGNMENT = 8
LEVEL = 6
#: The names that JavaScript's readers have for the types of arrays.
TYPES = {"uint8": "u8", "uint16": "u16", "uint32": "u32", "float64": "f64"}

Array = npt.NDArray[Any]


def pack(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> str:
    """Return the text that stands in the page.

    Args:
        header: what is JSON; the key `arrays` is added to it.
        arrays: of one dimension, by name.

    Raises:
        ValueError: an array has a type that pages do not read.
    """
    parts: list[bytes] = []
    places: dict[str, dict[str, Any]] = {}
    offset = 0
    for name, array in arrays.items():
        kind = TYPES.get(array.dtype.name)
        if kind is None or array.ndim != 1:
            raise ValueError(
                f"{name}: expected one dimension of {', '.join(TYPES)}, found {array.ndim} of {array.dtype}"
            )
        places[name] = {"type": kind, "offset": offset, "count": len(array)}
        data = padded(by_byte(array.astype(array.dtype.newbyteorder("<"))))
        parts.append(data)
        offset += len(data)
    text = json.dumps({**header, "arrays": places}, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # Names come from programs: a lone surrogate has no UTF-8.
    encoded = text.encode("utf-8", errors="replace")
    start = padded(struct.pack("<I", len(encoded)) + encoded)
    return base64.b64encode(zlib.compress(b"".join([start, *parts]), LEVEL)).decode("ascii")


def by_byte(array: Array) -> bytes:
    """Return the lowest bytes of all numbers, then the second ones, and so on."""
    return bytes(array.view(np.uint8).reshape(-1, array.itemsize).T.tobytes())


def padded(data: bytes) -> bytes:
    """Return the bytes, with zeros behind them up to a multiple of 8."""
    return data + bytes(-len(data) % ALIGNMENT)
