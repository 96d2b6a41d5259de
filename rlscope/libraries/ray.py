"""Ray: `ray.get` waits, actors have the name of their class, tasks are the program's, who ends with Ray is noted."""

import functools
import inspect
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rlscope import _native
from rlscope.model import Category
from rlscope.record.blocking import PROCESS
from rlscope.record.declared.kinds import Boundary, Hook, WrapperHook

MANAGER = ("ray._private.function_manager", "FunctionActorManager")


def name_process(name: str) -> None:
    """Give this process another name in tables and figures, if it is recorded."""
    if _native.is_recording():
        _native.write_properties(json.dumps({"process_name": name}))


def _naming(load: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the function that loads an actor's class: a process loads its own first, then those of its handles."""
    is_named = False

    def loading(manager: Any, job_id: Any, descriptor: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal is_named
        if not is_named and not manager._worker.actor_id.is_nil() and _native.is_recording():
            is_named = True
            name_process(descriptor.class_name.split(".")[-1])
        return load(manager, job_id, descriptor, *args, **kwargs)

    return loading


def _marking(get: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the method by which a worker finds what a task calls."""

    def getting(*args: Any, **kwargs: Any) -> Any:
        info = get(*args, **kwargs)
        return info._replace(function=_as_task(info.function, info.function_name))

    return getting


@functools.cache
def _as_task(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    scope = _native.callback(f"ray.remote({name})")
    if inspect.isgeneratorfunction(function):
        return _in_turns(function, scope)
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return function  # runs on a thread of its own, which waits in no call of Ray
    return _native.Hooked(function, (scope,))


def _in_turns(function: Callable[..., Iterator[Any]], scope: _native.Scope) -> Callable[..., Iterator[Any]]:
    @functools.wraps(function)
    def taking_turns(*args: Any, **kwargs: Any) -> Iterator[Any]:
        values = function(*args, **kwargs)
        while True:
            with scope:
                try:
                    value = next(values)
                except StopIteration:
                    return
            yield value

    return taking_turns


def _noting_ends(end: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap what ends workers, then Ray's own processes: nothing is lost of those that live until then."""

    def ending(*args: Any, **kwargs: Any) -> Any:
        if _native.is_recording():
            note_living()
        return end(*args, **kwargs)

    return ending


def note_living() -> None:
    """Note in this process's properties that it ends all other processes of the trace that live now.

    One that goes on recording shows by that that it was not meant, and one that ends by itself says so in its file.
    """
    from rlscope.record.run.trace_files import running_processes  # not needed before Ray ends

    others = running_processes(Path(_native.trace_path()).parent) - {os.getpid()}
    now_ns = time.monotonic_ns()
    if others:
        _native.write_properties(json.dumps({f"ended {process}": ["Ray", now_ns] for process in others}))


# Below the Python functions: what `ray.get` does with the values that it got is work.
BOUNDARIES = (
    Boundary(
        library="ray._raylet",
        category=Category.WAIT,
        functions=(
            "ray._raylet.CoreWorker.get_objects",
            "ray._raylet.CoreWorker.wait",
            "ray._raylet.CoreWorker.run_task_loop",
        ),
        waits_for=PROCESS,
    ),
)
HOOKS: tuple[Hook, ...] = (
    WrapperHook(MANAGER[0], (MANAGER[1], "load_actor_class"), _naming),
    WrapperHook(MANAGER[0], (MANAGER[1], "get_execution_info"), _marking),
    WrapperHook("ray._private.worker", ("disconnect",), _noting_ends),
    WrapperHook("ray._private.node", ("Node", "kill_all_processes"), _noting_ends),
)
