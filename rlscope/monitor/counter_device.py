"""This file samples the hardware counters of one device at a fixed interval, whoever uses it."""

import ctypes
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rlscope.monitor.cupti_profiler import (
    GPU_CLOCK_INTERVAL,
    GPU_TIME_INTERVAL,
    IMAGE_IS_FULL,
    INVALID_PARAMETER,
    METRIC_TYPES,
    NOT_SUPPORTED,
    OUT_OF_MEMORY,
    PM_SAMPLING,
    Cupti,
    CuptiError,
    names_array,
)

#: What the device writes into until it is decoded: some seconds, at about 8 KiB a sample.
BUFFER_BYTES = 256 << 20
#: Of Turing and A100, which have no interval in time, only one in clocks; they change with the load.
CLOCKS_PER_NS = 1.4
#: Samples that can be decoded at once; CUPTI takes 33 KiB of memory for each.
IMAGE_SAMPLES = 4000


@dataclass(frozen=True)
class Samples:
    """Decoded samples.

    Attributes:
        start_ns: of each, on the device's clock, in nanoseconds.
        end_ns: likewise.
        values: one row per sample, one column per metric.
    """

    start_ns: npt.NDArray[np.int64]
    end_ns: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]


class CounterHost:
    """This is what CUPTI knows of a device's counters, without the device counting.

    Attributes:
        chip: NVIDIA's name of it, such as GH100.
    """

    def __init__(self, cupti: Cupti, device: int) -> None:
        """Open `device`, which is CUDA's number in this process.

        Raises:
            CuptiError: the device cannot be sampled.
        """
        self.cupti = cupti
        self.chip: str = cupti.call("cuptiDeviceGetChipName", device=device).chip.decode()
        size = cupti.call("cuptiPmSamplingGetCounterAvailability", device=device).image_size
        self._availability = ctypes.create_string_buffer(size)
        address = ctypes.addressof(self._availability)
        cupti.call("cuptiPmSamplingGetCounterAvailability", device=device, image_size=size, image=address)
        self.handle = self._initialize()

    def _initialize(self) -> int:
        found = self.cupti.call(
            "cuptiProfilerHostInitialize",
            profiler=PM_SAMPLING,
            chip=self.chip.encode(),
            availability=ctypes.addressof(self._availability),
        )
        return int(found.object)

    def base_metrics(self) -> list[str]:
        """Return all names that the device has counters for, without endings."""
        names = []
        for kind in METRIC_TYPES:
            found = self.cupti.call("cuptiProfilerHostGetBaseMetrics", object=self.handle, type=kind)
            names += [found.names[index].decode() for index in range(found.count)]
        return sorted(names)

    def description(self, metric: str) -> str:
        """Return the description in CUPTI's words."""
        found = self.cupti.call("cuptiProfilerHostGetMetricProperties", object=self.handle, name=metric.encode())
        return f"{(found.description or b'').decode()} ({(found.unit or b'').decode()})"

    def configuration(self, metrics: Sequence[str]) -> ctypes.Array[ctypes.c_char]:
        """Return what the device is told so that it counts these; of a host made anew, for metrics add up.

        Raises:
            CuptiError: CUPTI does not know one of them.
        """
        handle = self._initialize()
        names = names_array(metrics)
        self.cupti.call("cuptiProfilerHostConfigAddMetrics", object=handle, names=names, count=len(metrics))
        size = self.cupti.call("cuptiProfilerHostGetConfigImageSize", object=handle).config_size
        config = ctypes.create_string_buffer(size)
        address = ctypes.addressof(config)
        self.cupti.call("cuptiProfilerHostGetConfigImage", object=handle, config_size=size, config=address)
        self.cupti.call("cuptiProfilerHostDeinitialize", object=handle)
        return config

    def passes(self, config: ctypes.Array[ctypes.c_char]) -> int:
        """Return how often a program would have to run for these counters; sampling takes one pass at most."""
        size, address = len(config), ctypes.addressof(config)
        return int(self.cupti.call("cuptiProfilerHostGetNumOfPasses", config_size=size, config=address).passes)


class CounterDevice:
    """A device that counts.

    Attributes:
        has_more: samples wait that the last taking had no room for.
    """

    def __init__(self, host: CounterHost, device: int, metrics: Sequence[str], interval_ns: int) -> None:
        """Prepare the device; it does not count yet.

        Raises:
            CuptiError: it is in use, or not for this user.
        """
        self._cupti = host.cupti
        self._names = names_array(metrics)
        self._count = len(metrics)
        self._config = host.configuration(metrics)  # CUPTI reads it whenever it decodes
        self._object = self._cupti.call("cuptiPmSamplingEnable", device=device).object
        try:
            self._configure(interval_ns, GPU_TIME_INTERVAL)
        except CuptiError as error:
            if error.status not in (NOT_SUPPORTED, INVALID_PARAMETER):
                raise
            self._configure(round(interval_ns * CLOCKS_PER_NS), GPU_CLOCK_INTERVAL)
        size = self._cupti.call(
            "cuptiPmSamplingGetCounterDataSize",
            object=self._object,
            names=self._names,
            count=self._count,
            samples=IMAGE_SAMPLES,
        ).image_size
        self._image = ctypes.create_string_buffer(size)
        self._values = (ctypes.c_double * self._count)()
        image = {"image": ctypes.addressof(self._image), "image_size": size}
        parameters = Cupti.parameters
        self._clear = parameters("cuptiPmSamplingCounterDataImageInitialize", object=self._object, **image)
        self._decode = parameters("cuptiPmSamplingDecodeData", object=self._object, **image)
        self._info = parameters("cuptiPmSamplingGetCounterDataInfo", **image)
        self._sample = parameters("cuptiPmSamplingCounterDataGetSampleInfo", object=self._object, **image)
        self._evaluate = parameters(
            "cuptiProfilerHostEvaluateToGpuValues",
            object=host.handle,
            names=self._names,
            count=self._count,
            values=self._values,
            **image,
        )
        self._has_begun = False  # taken a sample since the start
        self._is_counting = False
        self.has_more = False
        self._last_end_ns = 0

    def _configure(self, interval: int, trigger: int) -> None:
        self._cupti.call(
            "cuptiPmSamplingSetConfig",
            object=self._object,
            config_size=len(self._config),
            config=ctypes.addressof(self._config),
            buffer_bytes=BUFFER_BYTES,
            interval=interval,
            trigger=trigger,
        )

    def start(self) -> tuple[int, int]:
        """Begin to count; CLOCK_MONOTONIC before and after, in nanoseconds."""
        before_ns = time.monotonic_ns()
        self._cupti.call("cuptiPmSamplingStart", object=self._object)
        self._has_begun, self._is_counting = False, True
        return before_ns, time.monotonic_ns()

    def stop(self) -> int:
        """End counting, after CLOCK_MONOTONIC in nanoseconds, which it gives. What was counted can still be taken."""
        before_ns = time.monotonic_ns()
        self._cupti.call("cuptiPmSamplingStop", object=self._object)
        self._is_counting = False
        return before_ns

    def close(self) -> None:
        """Give the device's counters back."""
        self._cupti.call("cuptiPmSamplingDisable", object=self._object)

    def take(self) -> tuple[Samples, int | None]:
        """Return what was counted since the last time.

        Returns:
            The samples; and when counting began by the device's clock, if that was since the last time.
        """
        self._cupti.call_with("cuptiPmSamplingCounterDataImageInitialize", self._clear)
        is_lost = False
        try:
            self._cupti.call_with("cuptiPmSamplingDecodeData", self._decode)
        except CuptiError as error:
            if error.status != OUT_OF_MEMORY:
                raise
            is_lost = True
        rows = self._evaluated()
        began_ns = None
        if rows and not self._has_begun:
            began_ns = rows[0][1]
            self._has_begun = True
            del rows[0]  # it holds all that happened since the device was made ready
        self.has_more = not is_lost and self._decode.reason == IMAGE_IS_FULL
        if self._is_counting and (is_lost or self.has_more):
            # What CUPTI decodes from then on has samples of old in it.
            self.stop()
            self.start()
        return self._ordered(rows), began_ns

    def _ordered(self, rows: list[tuple[int, int, list[float]]]) -> Samples:
        """Return the samples in order of time, which the device's clock keeps to within some hundred nanoseconds."""
        if not rows:
            return Samples(np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, self._count)))
        starts, ends, values = (np.array(column) for column in zip(*rows, strict=True))
        ends_before = np.maximum.accumulate(np.concatenate([[self._last_end_ns], ends[:-1]]))
        starts = np.maximum(starts, ends_before)
        is_whole = ends > starts
        self._last_end_ns = max(self._last_end_ns, int(ends.max()))
        return Samples(starts[is_whole], ends[is_whole], values[is_whole])

    def _evaluated(self) -> list[tuple[int, int, list[float]]]:
        self._cupti.call_with("cuptiPmSamplingGetCounterDataInfo", self._info)
        rows = []
        sample, evaluate = self._sample, self._evaluate
        for index in range(self._info.completed):
            sample.index = evaluate.index = index
            self._cupti.call_with("cuptiPmSamplingCounterDataGetSampleInfo", sample)
            self._cupti.call_with("cuptiProfilerHostEvaluateToGpuValues", evaluate)
            rows.append((sample.start_ns, sample.end_ns, self._values[:]))
        return rows


def explain(error: CuptiError, conditions: Sequence[str] = ()) -> str:
    """Return what keeps counters from being read, and the way out, in one sentence."""
    known: dict[int, str] = {
        26: "another program reads them (ncu, nsys, DCGM or a second recording); end it",
        33: "the virtual GPU does not give them to its guest; ask who runs the host to enable profiling for it",
        35: "only administrators may; one of them can allow it to all with the driver option "
        "NVreg_RestrictProfilingToAdminUsers=0, or start this as root",
        40: "the host of this virtual GPU does not allow it; ask who runs it to enable profiling",
        41: "confidential computing is on; use a GPU without it",
        42: "this is a mining processor, which has none",
        43: "the GPU is divided (MIG); use a whole one",
        44: "GPUs are linked by SLI; turn it off",
        45: "WSL does not give them; use Linux itself",
    }
    if error.status in known:
        return known[error.status]
    if conditions:
        return f"CUPTI says that the device's {', '.join(conditions)} does not allow it"
    return str(error)
