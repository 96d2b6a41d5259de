"""PyTorch's DataLoader: who waits for a batch waits for its workers, also through its thread that pins memory."""

import inspect
import os
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from rlscope import _native
from rlscope.libraries.ray import name_process
from rlscope.record.declared.kinds import Hook, WrapperHook

Function = Callable[..., Any]

#: By iterator: waits for the pipe through which all of its workers send.
_waits: WeakKeyDictionary[Any, _native.Scope] = WeakKeyDictionary()


def _wait_of(iterator: Any) -> _native.Scope:
    scope = _waits.get(iterator)
    if scope is None:
        pipe = os.fstat(iterator._worker_result_queue._reader.fileno()).st_ino
        scope = _waits[iterator] = _native.wait_call(f"torch.utils.data.DataLoader.__next__ pipe:[{pipe}]")
    return scope


def _fetching(fetch: Function) -> Function:
    """Wrap the method that fetches a batch: from the pipe of the workers, or from a thread that reads it."""

    def fetching(iterator: Any, *args: Any, **kwargs: Any) -> Any:
        outer = _native.name_waits(_wait_of(iterator))
        try:
            return fetch(iterator, *args, **kwargs)
        finally:
            _native.name_waits(outer)

    return fetching


def _naming(loop: Function) -> Function:
    """Wrap what a worker runs: it is called by its number."""
    signature = inspect.signature(loop)

    def naming(*args: Any, **kwargs: Any) -> Any:
        name_process(f"DataLoader worker {signature.bind(*args, **kwargs).arguments['worker_id']}")
        return loop(*args, **kwargs)

    return naming


HOOKS: tuple[Hook, ...] = (
    WrapperHook("torch.utils.data.dataloader", ("_MultiProcessingDataLoaderIter", "_try_get_data"), _fetching),
    WrapperHook("torch.utils.data._utils.worker", ("_worker_loop",), _naming),
)
