"""This package draws figures from tables: nothing here reads a trace or a clock."""

import contextlib
import os

# A notebook's backend may be none that this environment has; figures go into files here, and need none.
_backend = os.environ.pop("MPLBACKEND", None)
import matplotlib as mpl  # noqa: E402

if _backend is not None:
    os.environ["MPLBACKEND"] = _backend
    with contextlib.suppress(ValueError):
        mpl.rcParams["backend"] = _backend
