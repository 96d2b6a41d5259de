"""PyTorch: functions, tensor methods and the autograd engine; saving to a file, and writing of logs for TensorBoard."""

import io
import json
import sys
from collections.abc import Callable
from typing import Any

from rlscope import _native
from rlscope.model import ANOMALIES, CHECKPOINT, Category
from rlscope.record.blocking import DISK
from rlscope.record.declared.hooks import scope_of
from rlscope.record.declared.kinds import Boundary, Hook, MethodHook, ProfilerHook, WrapperHook

#: Questions about a tensor or its metadata: answered without tensor work.
PREDICATES = frozenset(
    """
    is_coalesced is_complex is_conj is_contiguous is_distributed is_floating_point is_inference is_neg is_pinned
    is_same_size is_set_to is_signed is_vulkan_available _is_view _is_zerotensor _has_compatible_shallow_copy_type
    _debug_has_internal_overlap _nnpack_available _use_cudnn_ctc_loss _use_cudnn_rnn_flatten_weight
    _use_miopen_ctc_loss can_cast result_type promote_types get_num_interop_threads get_num_threads get_default_dtype
    """.split()
)
ACCESSORS = frozenset(
    """
    __len__ _dimI _dimV _fix_weakref _use_count _view_func _view_func_unsafe _rev_view_func_unsafe
    _autocast_to_full_precision _autocast_to_reduced_precision as_subclass const_data_ptr data_ptr dense_dim dim
    element_size get_device has_names nelement ndimension numel q_per_channel_axis q_scale q_zero_point qscheme
    record_stream requires_grad_ retain_grad size sparse_dim storage_offset stride type untyped_storage
    _nested_tensor_size _nested_tensor_storage_offsets _nested_tensor_strides
    """.split()
)

BOUNDARIES = (
    Boundary(
        library="torch",
        category=Category.BACKEND,
        containers=(
            "torch._C._VariableFunctions",
            "torch._C.TensorBase",
            "torch._C._nn",
            "torch._C._fft",
            "torch._C._linalg",
            "torch._C._special",
            "torch._C._sparse",
            "torch._C._nested",
        ),
        functions=("torch._C._ImperativeEngine.run_backward",),
        not_crossings=PREDICATES | ACCESSORS,
        indexed=("torch._C.TensorBase",),
        callbacks=(("torch.autograd.function", "BackwardCFunction", "apply"),),
        callback_takers=(
            ("torch", "Tensor", "register_hook"),
            ("torch", "Tensor", "register_post_accumulate_grad_hook"),
            ("torch.nn.modules.module", "Module", "register_full_backward_hook"),
            ("torch.nn.modules.module", "Module", "register_full_backward_pre_hook"),
        ),
    ),
    # What torch.save and torch.load do of a file.
    Boundary(
        library="torch",
        category=Category.BACKEND,
        functions=(
            "torch._C.PyTorchFileWriter.write_record",
            "torch._C.PyTorchFileWriter.write_end_of_file",
            "torch._C.PyTorchFileReader.get_record",
            "torch._C.PyTorchFileReader.get_storage_from_record",
        ),
        waits_for=DISK,
    ),
)


def _unless_into_memory(save: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap torch.save: what is written into memory is on its way to another process, or pickled as a part of more."""
    recorded = _native.Hooked(save, (scope_of(CHECKPOINT),))

    def saving(obj: Any, f: Any, *args: Any, **kwargs: Any) -> Any:
        return (save if isinstance(f, io.BytesIO) else recorded)(obj, f, *args, **kwargs)

    return saving


def _noting_threads(set_threads: Callable[[int], None]) -> Callable[[int], None]:
    def setting_threads(number: int) -> None:
        set_threads(number)
        if _native.is_recording():
            _native.write_properties(json.dumps({"operator_threads": number}))

    return setting_threads


def _note_double(network: Any) -> None:
    """Say that there is a network in double precision: what is computed with it has twice as many bytes."""
    torch: Any = sys.modules.get("torch")
    if _native.is_recording() and any(parameter.dtype == torch.float64 for parameter in network.parameters()):
        _native.write_properties(json.dumps({"network_dtype": "torch.float64"}))


def _note_anomalies(_: Any) -> None:
    """Note in the trace on which line autograd was told to detect anomalies, or that it does no longer."""
    place: list[Any] = []
    if sys.modules["torch"].is_anomaly_enabled():
        frame = sys._getframe()
        while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in ("rlscope", "torch"):
            frame = frame.f_back
        place = [frame.f_code.co_filename, frame.f_lineno]
    noted = _native.trace_path(), place
    if _native.is_recording() and noted != _noted[-1]:
        _noted[:] = [noted]
        _native.write_properties(json.dumps({ANOMALIES: place}))


#: What was noted last, and in which file: a program may turn the detection on in each update.
_noted: list[tuple[Any, list[Any]]] = [(None, [])]
ANOMALY_MODE = "torch.autograd.anomaly_mode"

HOOKS: tuple[Hook, ...] = (
    MethodHook("torch.nn.modules.module", "Module", "double", (), after=_note_double),
    MethodHook("torch.nn.modules.module", "Module", "to", (), after=_note_double),
    MethodHook(ANOMALY_MODE, "set_detect_anomaly", "__init__", (), after=_note_anomalies),
    MethodHook(ANOMALY_MODE, "detect_anomaly", "__enter__", (), after=_note_anomalies),
    WrapperHook("torch", ("set_num_threads",), _noting_threads, is_always=True),
    *(WrapperHook(module, ("save",), _unless_into_memory) for module in ("torch.serialization", "torch")),
    # torch.profiler and torch.autograd.profiler prepare, enable and disable every recording. The function that is told
    # of the end is replaced, not the one that disables: that one would show in the profile.
    ProfilerHook(
        name="torch.profiler",
        modules=("torch.autograd.profiler",),
        takes=("_prepare_profiler",),
        returns=("_run_on_profiler_stop",),
        prepares=("profile", "_prepare_trace"),
    ),
)
