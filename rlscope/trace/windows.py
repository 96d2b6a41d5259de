"""This file names where the windows of a run lie, and where they are asked for. Standard library only."""

from __future__ import annotations

import re

#: Holds one number, little-endian as the C++ side reads it, which all processes of the run have mapped. Each request
#: adds one; while it is odd, a window is recorded.
REQUESTS_NAME = "requests"
NUMBER_BYTES = 4
WINDOW = re.compile(r"window-\d+")


def window_of(run: str, number: int) -> str | None:
    """Return the trace of the window that a number asks for; None where it asks for none."""
    return f"{run}/window-{number // 2 + 1}" if number % 2 else None
