"""This file reads what the machine reported beside a trace when somebody first asks: few verbs need it, and pandas."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from rlscope.trace.utilization_file import UTILIZATION_NAME

if TYPE_CHECKING:
    import pandas as pd


class Utilization:
    """The samples beside a trace, or those in the last bytes of their file.

    Each method may raise what `read_utilization` does.
    """

    def __init__(self, directory: Path, last_bytes: int | None = None) -> None:
        self._directory = directory
        self._last_bytes = last_bytes
        self._is_sampled = os.path.lexists(directory / UTILIZATION_NAME)

    @cached_property
    def samples(self) -> pd.DataFrame:
        """Return the samples as `read_utilization` returns them."""
        from rlscope.analysis.utilization import read_utilization

        return read_utilization(self._directory, self._last_bytes)

    def mean(self, start_ns: int, end_ns: int) -> dict[str, float]:
        """Return what `mean_utilization` does; nothing without samples."""
        if not self._is_sampled:
            return {}
        from rlscope.analysis.utilization import mean_utilization

        return mean_utilization(self.samples, start_ns, end_ns)

    def in_parts(self, uuid: str | None, borders_ns: Sequence[int]) -> list[float | None]:
        """Return the mean utilization of a device in each part between borders; None where it was not sampled."""
        if not self._is_sampled:
            return [None] * (len(borders_ns) - 1)
        import numpy as np

        from rlscope.analysis.utilization import utilization_in_parts

        own = self.samples[self.samples["source"] == uuid]
        found = utilization_in_parts(own, np.array(borders_ns, dtype=np.int64)).get(uuid or "")
        if found is None:
            return [None] * (len(borders_ns) - 1)
        return [None if math.isnan(share) else share for share in found.tolist()]
