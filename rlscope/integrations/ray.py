"""Ray: the process of an actor has the name of the actor's class."""

import json
from collections.abc import Callable
from typing import Any

from rlscope import _native
from rlscope.record.hooks import WrapperHook


def _naming(load: Callable[..., Any]) -> Callable[..., Any]:
    """In the place of the function that loads an actor's class: a process's own first, then those of its handles."""
    is_named = False

    def loading(manager: Any, job_id: Any, descriptor: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal is_named
        if not is_named and not manager._worker.actor_id.is_nil() and _native.is_recording():
            is_named = True
            _native.write_properties(json.dumps({"process_name": descriptor.class_name.split(".")[-1]}))
        return load(manager, job_id, descriptor, *args, **kwargs)

    return loading


HOOKS: tuple[WrapperHook, ...] = (
    WrapperHook("ray._private.function_manager", ("FunctionActorManager", "load_actor_class"), _naming),
)
