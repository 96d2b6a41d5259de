"""This package draws figures from tables: nothing here reads a trace or a clock."""

import contextlib
import os

# A notebook's backend may be none that this environment has; figures go into files here, and need none.
if (_backend := os.environ.pop("MPLBACKEND", None)) is not None:
    import matplotlib as mpl

    os.environ["MPLBACKEND"] = _backend
    with contextlib.suppress(ValueError):
        mpl.rcParams["backend"] = _backend
