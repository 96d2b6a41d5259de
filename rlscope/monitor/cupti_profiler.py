"""This file calls the part of libcupti that samples hardware counters (PM sampling, CUDA 12.6 and newer)."""

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, c_char_p, c_double, c_int, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from typing import Any

#: CUpti_ProfilerType, CUpti_Profiler_API: the values for sampling at an interval.
PM_SAMPLING = 1
PM_SAMPLING_API = 3
#: CUpti_PmSampling_TriggerMode: an interval in clocks of the device, and one in nanoseconds.
GPU_CLOCK_INTERVAL = 0
GPU_TIME_INTERVAL = 1
METRIC_TYPES = (0, 1, 2)  # counters, ratios, throughputs
#: CUpti_PmSampling_DecodeStopReason.
IMAGE_IS_FULL = 1
INVALID_PARAMETER = 1
OUT_OF_MEMORY = 8
NOT_SUPPORTED = 27
SUPPORTED = 3

_IMAGE = [("image", c_void_p), ("image_size", c_size_t)]
_OBJECT = [("object", c_void_p)]


class CuptiError(Exception):
    """A call of libcupti that failed.

    Attributes:
        status: the CUptiResult.
    """

    def __init__(self, call: str, status: int, meaning: str) -> None:
        super().__init__(f"{call} gave {meaning} ({status})")
        self.status = status


def _parameters(*fields: tuple[str, Any]) -> type[ctypes.Structure]:
    """Return a struct of CUPTI's profilers: its size and a null pointer come before the fields."""
    return type("Parameters", (ctypes.Structure,), {"_fields_": [("size", c_size_t), ("null", c_void_p), *fields]})


#: By function; as in the headers of CUDA 13.0, whose structs later versions only lengthen.
PARAMETERS = {
    "cuptiProfilerInitialize": _parameters(),
    "cuptiProfilerDeviceSupported": _parameters(
        ("device", c_int),
        *((name, c_int) for name in ("supported", "architecture", "sli", "vgpu", "confidential", "mining", "wsl")),
        ("api", c_int),
    ),
    "cuptiDeviceGetChipName": _parameters(("device", c_size_t), ("chip", c_char_p)),
    "cuptiPmSamplingGetCounterAvailability": _parameters(
        ("device", c_size_t), ("image_size", c_size_t), ("image", c_void_p)
    ),
    "cuptiProfilerHostInitialize": _parameters(
        ("profiler", c_int), ("chip", c_char_p), ("availability", c_void_p), *_OBJECT
    ),
    "cuptiProfilerHostDeinitialize": _parameters(*_OBJECT),
    "cuptiProfilerHostGetBaseMetrics": _parameters(
        *_OBJECT, ("type", c_int), ("names", POINTER(c_char_p)), ("count", c_size_t)
    ),
    "cuptiProfilerHostGetMetricProperties": _parameters(
        *_OBJECT, ("name", c_char_p), ("description", c_char_p), ("hardware_unit", c_char_p), ("unit", c_char_p),
        ("type", c_int),
    ),
    "cuptiProfilerHostConfigAddMetrics": _parameters(*_OBJECT, ("names", POINTER(c_char_p)), ("count", c_size_t)),
    "cuptiProfilerHostGetConfigImageSize": _parameters(*_OBJECT, ("config_size", c_size_t)),
    "cuptiProfilerHostGetConfigImage": _parameters(*_OBJECT, ("config_size", c_size_t), ("config", c_void_p)),
    "cuptiProfilerHostGetNumOfPasses": _parameters(
        ("config_size", c_size_t), ("config", c_void_p), ("passes", c_size_t)
    ),
    "cuptiProfilerHostEvaluateToGpuValues": _parameters(
        *_OBJECT, *_IMAGE, ("index", c_size_t), ("names", POINTER(c_char_p)), ("count", c_size_t),
        ("values", POINTER(c_double)),
    ),
    "cuptiPmSamplingEnable": _parameters(("device", c_size_t), *_OBJECT),
    "cuptiPmSamplingDisable": _parameters(*_OBJECT),
    "cuptiPmSamplingSetConfig": _parameters(
        *_OBJECT, ("config_size", c_size_t), ("config", c_void_p), ("buffer_bytes", c_size_t),
        ("interval", c_uint64), ("trigger", c_int), ("append", c_int),
    ),
    "cuptiPmSamplingGetCounterDataSize": _parameters(
        *_OBJECT, ("names", POINTER(c_char_p)), ("count", c_size_t), ("samples", c_uint32), ("image_size", c_size_t)
    ),
    "cuptiPmSamplingCounterDataImageInitialize": _parameters(*_OBJECT, ("image_size", c_size_t), ("image", c_void_p)),
    "cuptiPmSamplingStart": _parameters(*_OBJECT),
    "cuptiPmSamplingStop": _parameters(*_OBJECT),
    "cuptiPmSamplingDecodeData": _parameters(*_OBJECT, *_IMAGE, ("reason", c_int), ("overflow", c_uint8)),
    "cuptiPmSamplingGetCounterDataInfo": _parameters(
        *_IMAGE, ("samples", c_size_t), ("populated", c_size_t), ("completed", c_size_t)
    ),
    "cuptiPmSamplingCounterDataGetSampleInfo": _parameters(
        *_OBJECT, *_IMAGE, ("index", c_size_t), ("start_ns", c_uint64), ("end_ns", c_uint64)
    ),
}  # fmt: skip


class Cupti:
    """A libcupti that can sample counters."""

    def __init__(self, path: str) -> None:
        """Load it, and prepare it for profiling.

        Raises:
            OSError: it cannot be loaded, or is older than CUDA 12.6.
            CuptiError: it cannot be used.
        """
        self._library = ctypes.CDLL(path)
        missing = [name for name in PARAMETERS if not self.has(name)]
        if missing:
            raise OSError(f"counters need the libcupti of CUDA 12.6 or newer, but {path} has no {missing[0]}")
        self.call("cuptiProfilerInitialize")

    def call(self, function: str, **fields: object) -> Any:
        """Call a function with a struct of these fields, and return the struct.

        Raises:
            CuptiError: it failed.
        """
        parameters = self.parameters(function, **fields)
        self.call_with(function, parameters)
        return parameters

    def call_with(self, function: str, parameters: ctypes.Structure) -> None:
        """Call a function with a struct that is used again and again."""
        status = getattr(self._library, function)(ctypes.byref(parameters))
        if status != 0:
            meaning = c_char_p()
            self._library.cuptiGetResultString(status, ctypes.byref(meaning))
            raise CuptiError(function, status, (meaning.value or b"an error without a name").decode())

    @staticmethod
    def parameters(function: str, **fields: object) -> Any:
        """Return the struct of a function. CUPTI is told the bytes up to the last field, without what aligns
        the struct.
        """
        kind = PARAMETERS[function]
        last, *_ = kind._fields_[-1]
        field = getattr(kind, last)
        return kind(size=field.offset + field.size, **fields)

    def has(self, function: str) -> bool:
        """Return whether this libcupti has a function that only newer ones have."""
        return hasattr(self._library, function)

    def support(self, device: int, api: int = PM_SAMPLING_API) -> list[str]:
        """Return what keeps a device from being profiled, by CUPTI's names of the conditions.

        Args:
            device: the driver's handle.
            api: the way to profile, by CUPTI's number of it.

        Returns:
            Empty where nothing does, and where CUPTI does not say.
        """
        try:
            answer = self.call("cuptiProfilerDeviceSupported", device=device, api=api)
        except CuptiError:
            return []
        if answer.supported == SUPPORTED:
            return []
        conditions = ("architecture", "sli", "vgpu", "confidential", "mining", "wsl")
        return [name for name in conditions if getattr(answer, name) != SUPPORTED] or ["unknown"]


def names_array(names: Sequence[str]) -> Any:
    """Return an array of C strings; it must be kept for as long as CUPTI may read it."""
    return (c_char_p * len(names))(*(name.encode() for name in names))
