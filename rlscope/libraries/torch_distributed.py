"""torch.distributed: calls of communicators, whom they wait for, and the names of ranks.

Each call of a process group is noted when it is made, and recorded when its thread need not wait for it any more.
DistributedDataParallel's reducer calls its process group from C++, so it gets one that goes through Python.
"""

import functools
import json
import os
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rlscope import _native
from rlscope.libraries.ray import name_process
from rlscope.model import Category
from rlscope.record.blocking import COMMUNICATION
from rlscope.record.declared.kinds import Boundary, WrapperHook

C10D = "torch.distributed.distributed_c10d"
NATIVE = "torch._C._distributed_c10d"
#: By method of a process group: what it does, and which argument has the tensors of the rank's own part.
COLLECTIVES = {
    "allreduce": ("all_reduce", 0),
    "allreduce_coalesced": ("all_reduce", 0),
    "broadcast": ("broadcast", 0),
    "reduce": ("reduce", 0),
    "allgather": ("all_gather", 1),
    "allgather_coalesced": ("all_gather", 1),
    "allgather_into_tensor_coalesced": ("all_gather", 1),
    "all_gather_single": ("all_gather", 1),
    "all_gather_single_coalesced": ("all_gather", 1),
    "_allgather_base": ("all_gather", 1),
    "gather": ("gather", 1),
    "scatter": ("scatter", 0),
    "reduce_scatter": ("reduce_scatter", 0),
    "reduce_scatter_single": ("reduce_scatter", 0),
    "reduce_scatter_single_coalesced": ("reduce_scatter", 0),
    "reduce_scatter_tensor_coalesced": ("reduce_scatter", 0),
    "_reduce_scatter_base": ("reduce_scatter", 0),
    "all_to_all_single": ("all_to_all", 1),
    "alltoall_base": ("all_to_all", 1),
    "alltoall": ("all_to_all", 1),
    "barrier": ("barrier", None),
}
#: Functions that are given a process group and return when it has done its work, as above.
BLOCKING = {"_broadcast_coalesced": ("broadcast", 1), "_verify_params_across_processes": ("all_gather", 1)}
#: By method: the place of the sender among the two ranks that are the caller's and the argument's.
POINT_TO_POINT = {"send": 0, "recv": 1}

Function = Callable[..., Any]


class Rank:
    """Remembers what this process is called until the trace says so, for it may be recorded only later."""

    name = ""

    def say(self) -> None:
        """Say it in the trace, if this process is recorded by now."""
        if self.name and _native.is_recording():
            name_process(self.name)
            self.name = ""


class Communicator:
    """A process group, or two ranks of it, the first of which sends to the second.

    Args:
        label: what it is called in the trace.
        ranks: its members in the run, in the order of their ranks in it.
    """

    def __init__(self, label: str, ranks: list[int]) -> None:
        self.label = label
        address = [os.environ.get(name, "") for name in ("MASTER_ADDR", "MASTER_PORT")]
        self._property = json.dumps({f"communicator {label}": {"ranks": ranks, "job": ":".join(address)}})
        self._written_to = ""

    def scope(self, function: str) -> _native.Scope:
        """Return the scope of waiting for a call; there is one of each name."""
        return _native.wait_call(f"torch.distributed.{function} {self.label}")

    def introduce(self) -> None:
        """Say in the trace who its members are, once in each file."""
        path = _native.trace_path()
        if path != self._written_to:
            self._written_to = path
            _native.write_properties(self._property)
            _rank.say()


class Call:
    """A call of a communicator that has been made."""

    __slots__ = ("_called_at", "_communicator", "_sequence", "_size", "scope")

    def __init__(self, communicator: Communicator, function: str, tensors: Any) -> None:
        self._communicator = communicator
        self.scope = communicator.scope(function)
        self._size = sum(tensor.nbytes for tensor in _flat(tensors))
        self._sequence = _calls[communicator.label]
        _calls[communicator.label] += 1
        self._called_at = _native.ticks()

    def is_over(self, waited_since: int | None) -> None:
        """Record it; None says that nobody has waited for it."""
        if _native.is_recording():
            self._communicator.introduce()
            _native.record_collective(self.scope, self._sequence, self._size, self._called_at, waited_since)

    def wait(self, function: Function, *args: Any, **kwargs: Any) -> Any:
        """Call a function that returns when it is over."""
        since = _native.ticks()
        with self.scope:
            result = function(*args, **kwargs)
        self.is_over(since)
        return result


_rank = Rank()
#: How many calls each communicator had: all its members have made the same ones, whether they were recorded or not.
_calls: Counter[str] = Counter()
_communicators: "weakref.WeakKeyDictionary[Any, Communicator]" = weakref.WeakKeyDictionary()
_pairs: dict[str, Communicator] = {}
#: What nobody has waited for yet, by the identity of the object that one waits for.
_awaited: dict[int, tuple["weakref.ref[Any]", Call]] = {}


class _Backward(threading.local):
    """Holds what a thread's backward pass has yet to wait for."""

    def __init__(self) -> None:
        self.works: list[Any] = []


_backward = _Backward()
#: By model: its reducer's process group, whose Python half must live as long as the reducer.
_of_reducers: "weakref.WeakKeyDictionary[Any, Any]" = weakref.WeakKeyDictionary()


def _flat(tensors: Any) -> Iterator[Any]:
    """Yield tensors from lists of lists of them."""
    if isinstance(tensors, list | tuple):
        for each in tensors:
            yield from _flat(each)
    elif hasattr(tensors, "nbytes"):
        yield tensors


def _ranks(group: Any) -> list[int]:
    """Return the members of a process group by their ranks in the run."""
    return list(sys.modules[C10D]._world.pg_group_ranks.get(group, range(group.size())))


def communicator_of(group: Any) -> Communicator:
    """Return the communicator that a process group is."""
    known = _communicators.get(group)
    if known is None:
        known = _communicators[group] = Communicator(f"group:{group.group_name}", _ranks(group))
    return known


def _pair(group: Any, sender: int, receiver: int) -> Communicator:
    label = f"{communicator_of(group).label}:{sender}>{receiver}"
    if label not in _pairs:
        ranks = _ranks(group)
        _pairs[label] = Communicator(label, [ranks[sender], ranks[receiver]])
    return _pairs[label]


def watched(work: Any, call: Call) -> Any:
    """Remember what is to be waited for, and record it unwaited if it is thrown away.

    NCCL returns None for a call that is not asynchronous, or that is one of a batch: nobody can wait for that.
    """
    if work is None:
        call.is_over(None)
        return None
    key = id(work)
    _awaited[key] = weakref.ref(work, lambda _: _awaited.pop(key)[1].is_over(None)), call
    return work


def _following_collective(function: str, own: int | None) -> Callable[[Function], Function]:
    """Wrap a method that returns what one waits for."""

    def wrap(method: Function) -> Function:
        def calling(group: Any, *args: Any, **kwargs: Any) -> Any:
            tensors = () if own is None else [*args, *kwargs.values()][own : own + 1]
            call = Call(communicator_of(group), function, tensors)
            return watched(method(group, *args, **kwargs), call)

        return calling

    return wrap


def _following_message(function: str, sender: int) -> Callable[[Function], Function]:
    """Wrap `send` or `recv`, whose other end is the second argument."""

    def wrap(method: Function) -> Function:
        def calling(group: Any, tensors: Any, other: int, *args: Any, **kwargs: Any) -> Any:
            ends = (group.rank(), other)
            call = Call(_pair(group, ends[sender], ends[1 - sender]), function, tensors)
            return watched(method(group, tensors, other, *args, **kwargs), call)

        return calling

    return wrap


def _following_blocking(function: str, own: int | None) -> Callable[[Function], Function]:
    """Wrap a function, or a method of process groups, that returns when all is done."""

    def wrap(blocking: Function) -> Function:
        def calling(group: Any, *args: Any, **kwargs: Any) -> Any:
            call = Call(communicator_of(group), function, () if own is None else args[own - 1])
            return call.wait(blocking, group, *args, **kwargs)

        return calling

    return wrap


def following_wait(wait: Function) -> Function:
    """Wrap the method that waits for a call."""
    of_nobody = _native.wait_call("torch.distributed.wait")

    def waiting(work: Any, *args: Any, **kwargs: Any) -> Any:
        known = _awaited.pop(id(work), None)
        if known is not None:
            return known[1].wait(wait, work, *args, **kwargs)
        with of_nobody:
            return wait(work, *args, **kwargs)

    return waiting


def _following_reducer(prepare: Function) -> Function:
    """Wrap the method with which a DistributedDataParallel makes its reducer."""

    def preparing(model: Any, *args: Any, **kwargs: Any) -> Any:
        result = prepare(model, *args, **kwargs)
        _of_reducers[model] = _through_python()(model.process_group)
        model.reducer._update_process_group(_of_reducers[model])
        return result

    return preparing


@functools.cache
def _through_python() -> type:
    """Return the class of process groups that stand for others before a reducer; PyTorch is imported by now."""
    process_group: Any = sys.modules[C10D].ProcessGroup

    class ThroughPython(process_group):  # type: ignore[misc]  # it is not known to mypy
        """Does everything as the process group that it stands for, whose methods in Python it calls."""

        def __init__(self, group: Any) -> None:
            super().__init__(group.rank(), group.size())
            self._group = group
            for device in group._device_types:
                self._register_backend(device, self.BackendType.CUSTOM, group._get_backend(device))

        def allreduce(self, tensors: Any, options: Any) -> Any:
            work = self._group.allreduce(tensors, options)
            _wait_at_end_of_backward(work, tensors)
            return work

        def broadcast(self, tensors: Any, options: Any) -> Any:
            return self._group.broadcast(tensors, options)

        def allgather(self, outputs: Any, inputs: Any, options: Any) -> Any:
            return self._group.allgather(outputs, inputs, options)

    return ThroughPython


def _wait_at_end_of_backward(work: Any, tensors: Iterable[Any]) -> None:
    """Wait right before the reducer does, on its thread: it waits in C++, where nobody sees for what."""
    if not _native.is_recording() or any(tensor.device.type != "cpu" for tensor in tensors):
        return
    try:
        sys.modules["torch"].autograd.Variable._execution_engine.queue_callback(_wait_for_reducer)
    except RuntimeError:  # no backward pass is under way: nothing of the model was used
        return
    _backward.works.append(work)


def _wait_for_reducer() -> None:
    works, _backward.works = _backward.works, []
    for work in works:
        try:
            work.wait()
        except RuntimeError:  # which the reducer meets next
            return


def _naming(initialise: Function) -> Function:
    """Wrap the function by which a process becomes a rank."""

    def initialising(*args: Any, **kwargs: Any) -> Any:
        result = initialise(*args, **kwargs)
        _rank.name = f"rank {sys.modules[C10D].get_rank()}"
        _rank.say()
        return result

    return initialising


def _wrappers() -> Iterator[WrapperHook]:
    yield WrapperHook(C10D, ("init_process_group",), _naming)
    for method, declared in COLLECTIVES.items():
        yield WrapperHook(C10D, ("ProcessGroup", method), _following_collective(*declared))
    for method, sender in POINT_TO_POINT.items():
        yield WrapperHook(C10D, ("ProcessGroup", method), _following_message(method, sender))
    yield WrapperHook(C10D, ("ProcessGroup", "monitored_barrier"), _following_blocking("barrier", None))
    for function, declared in BLOCKING.items():
        yield WrapperHook("torch.distributed", (function,), _following_blocking(*declared))
    yield WrapperHook(C10D, ("Work", "wait"), following_wait)
    yield WrapperHook(
        "torch.nn.parallel.distributed", ("DistributedDataParallel", "_ddp_init_helper"), _following_reducer
    )


BOUNDARIES = (
    Boundary(
        library=C10D,
        category=Category.WAIT,
        functions=(f"{NATIVE}.Store.wait", f"{NATIVE}.Store.get", "torch._C.Future.wait"),
        waits_for=COMMUNICATION,
        wrappers=tuple(_wrappers()),
    ),
    Boundary(
        library=C10D,
        category=Category.BACKEND,
        functions=tuple(f"{NATIVE}.ProcessGroup.{method}" for method in (*COLLECTIVES, *POINT_TO_POINT)),
    ),
)
