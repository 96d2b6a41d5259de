"""This file turns slices into columns of numbers and texts, for files that have one row per slice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rlscope.analysis.detail.slices import SLICE_KINDS, SLICE_STAGES
from rlscope.analysis.detail.swept import SliceBatch, SliceTrack, SliceTracks
from rlscope.analysis.sweep import ProcessSweep
from rlscope.export.run import ExportRun

Array = npt.NDArray[Any]
Known = TypeVar("Known")
#: Writes a text as the file has it.
Write = Callable[[str], str]


class SliceColumns:
    """Some slices of a process, as columns. Shape of each array: (slices,).

    Attributes:
        tracks: The place of each one's track in the process.
        starts_ns: From the start of the run.
        lengths_ns: How long it is.
        depths: How many slices of the track enclose it.
        flows: As in `SliceBatch`.
    """

    def __init__(self, batch: SliceBatch, names: Sequence[str], tracks: Sequence[SliceTrack]) -> None:
        self._batch = batch
        self._names = names
        self._tracks = tracks
        self.tracks: Array = np.frombuffer(batch.tracks, "<u4")
        self.starts_ns: Array = np.frombuffer(batch.starts, "<i8")
        self.lengths_ns: Array = np.frombuffer(batch.ends, "<i8") - self.starts_ns
        self.depths: Array = np.frombuffer(batch.depths, "<i4")
        self.flows: Array = np.frombuffer(batch.flows, "<u8")

    def track_texts(self, write: Callable[[SliceTrack], str]) -> pa.DictionaryArray:
        """Return what is written of the track of each."""
        return _texts(self.tracks, self._tracks, write)

    def kinds(self, write: Write = str) -> pa.DictionaryArray:
        """Return the layers of calls, or what else slices are."""
        return _texts(np.frombuffer(self._batch.kinds, "u1"), SLICE_KINDS, write)

    def stages(self, write: Write = str) -> pa.DictionaryArray:
        """Return the stages."""
        return _texts(np.frombuffer(self._batch.stages, "u1"), SLICE_STAGES, write)

    def names(self, write: Write = str) -> pa.DictionaryArray:
        """Return the names."""
        return _texts(np.frombuffer(self._batch.names, "<u4"), self._names, write)

    def operations(self, write: Write = str) -> pa.DictionaryArray:
        """Return the innermost operations; "" is none."""
        return _texts(np.frombuffer(self._batch.operations, "<u4"), self._names, write)


def each_part(run: ExportRun, process: ProcessSweep, most: int, use: Callable[[SliceColumns], object]) -> SliceTracks:
    """Give the slices of a process to a function, so many at a time, and return their tracks."""
    names, tracks = [""], list[SliceTrack]()

    def take(batch: SliceBatch) -> None:
        if batch.new_names:
            names.extend([""] * (max(batch.new_names) + 1 - len(names)))
        for place, name in batch.new_names.items():
            names[place] = name
        tracks.extend(batch.new_tracks)
        use(SliceColumns(batch, names, tracks))

    return run.slices.batches(process, most, take)


def _texts(places: Array, known: Sequence[Known], write: Callable[[Known], str]) -> pa.DictionaryArray:
    is_used = np.zeros(len(known), dtype=bool)
    is_used[places] = True
    (used,) = np.nonzero(is_used)
    order = np.cumsum(is_used, dtype=np.int32) - 1
    return pa.DictionaryArray.from_arrays(
        order[places], pa.array([write(known[place]) for place in used.tolist()], pa.string())
    )
