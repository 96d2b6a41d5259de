"""JSON by the part of Python's that is written in C: `json` itself loads regular expressions, for milliseconds."""

from __future__ import annotations

from _json import encode_basestring_ascii, make_encoder, make_scanner

TYPE_CHECKING = False  # as `typing` has it, whose import takes longer than all of this
if TYPE_CHECKING:
    from typing import Any


class _Reading:
    """The attributes that the scanner asks for."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    array_hook = None  # since Python 3.15
    parse_float = float
    parse_int = int
    parse_constant = float


_read = make_scanner(_Reading)  # type: ignore[arg-type]  # attributes are all that it needs


def _refuse(value: object) -> None:
    raise TypeError(f"numbers, texts, lists and dictionaries were expected, not {value!r}")


_write = make_encoder(None, _refuse, encode_basestring_ascii, None, ": ", ", ", False, False, True)


def read(text: str) -> Any:
    """Return what `text` holds.

    Raises:
        ValueError: it is not JSON.
    """
    try:
        value, end = _read(text, 0)
    except StopIteration:
        raise ValueError("JSON was expected from its first character on") from None
    if text[end:].strip():
        raise ValueError(f"JSON was expected to end at character {end}")
    return value


def written(value: object) -> str:
    """`value` as JSON, on one line."""
    return "".join(_write(value, 0))
