"""Looks for every name that a library's file declares in the library itself; prints what it finds as JSON.

It runs as a program, so that another environment's Python can run it. Its last line is an object with a key for each
file, whose value holds the names that the library has, those that it lacks, and those whose module is not installed.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from rlscope.libraries import LIBRARIES
from rlscope.record.declared.kinds import Boundary, FunctionHook, Hook, MethodHook, TimerHook, WrapperHook
from rlscope.record.native_names import resolve

Report = dict[str, dict[str, list[str]]]
FOUND, LACKING, NOT_HERE = "found", "lacking", "not here"
#: Names that the versions installed for tests lack, and why they are declared.
LACKED = {
    "torch._C._StaticCudaLauncher._launch_kernel": "a build of PyTorch for CUDA has it",
    "ray.rllib.env.env_runner.EnvRunner.set_state": "subclasses of the class have it",
    "rsl_rl.runners.on_policy_runner.OnPolicyRunner.env.reset": "environments of Isaac Lab have it",
    "jax.profiler.stop_and_get_fdo_profile": "the other module of the profiler has it",
}


def looked_up(python: str | Path) -> Report:
    """Runs this program with the Python of an environment. Returns what it printed."""
    finished = subprocess.run([python, __file__], capture_output=True, text=True, check=True)
    report: Report = json.loads(finished.stdout.splitlines()[-1])
    return report


def names_of_boundary(boundary: Boundary) -> Iterator[tuple[str, str]]:
    """The dotted names of a boundary, each after the module that must be imported before."""
    in_library = (
        boundary.containers, boundary.functions, boundary.indexed, boundary.buffers, boundary.constructed,
        boundary.inherited, boundary.launched, boundary.awaiting,
    )  # fmt: skip
    yield from ((boundary.library, dotted) for names in in_library for dotted in names)
    yield from ((boundary.library, dotted) for dotted, _ in boundary.function_objects)
    for wrapper in boundary.wrappers:
        yield from names_of_hook(wrapper)
    for module, *path in (*boundary.callbacks, *boundary.callback_takers):
        yield module, ".".join((module, *path))
    for module, name, taker in boundary.registered:
        yield module, f"{module}.{name}"
        yield module, taker


def names_of_hook(hook: Hook) -> Iterator[tuple[str, str]]:
    """The dotted names of a hook, as `names_of_boundary` gives them."""
    if isinstance(hook, FunctionHook):
        yield hook.module, f"{hook.module}.{hook.name}"
    elif isinstance(hook, MethodHook):
        owner = f"{hook.module}.{hook.owner}"
        yield hook.module, f"{owner}.{hook.name}"
        if hook.held is not None:
            yield from ((hook.module, f"{owner}.{hook.held.attribute}.{name}") for name, _ in hook.held.methods)
    elif isinstance(hook, WrapperHook | TimerHook):
        yield hook.module, ".".join((hook.module, *hook.path))
    else:
        names = (*hook.takes, *hook.returns, *([".".join(hook.prepares)] if hook.prepares else []))
        yield from ((module, f"{module}.{name}") for module in hook.modules for name in names)


def declared(file: str) -> list[tuple[str, str]]:
    """The modules that a file waits for, each with a dotted name that it expects there."""
    contents = vars(import_module(file))
    names = [name for boundary in contents.get("BOUNDARIES", ()) for name in names_of_boundary(boundary)]
    return names + [name for hook in contents.get("HOOKS", ()) for name in names_of_hook(hook)]


def has(module: str, dotted: str) -> str:
    """Whether the library has the name, lacks it, or is not installed."""
    try:
        found: Any = import_module(module)
    except ImportError:
        return NOT_HERE
    if resolve(dotted) is not None:
        return FOUND
    for name in dotted.removeprefix(f"{module}.").split("."):  # an inherited method is in no class's own dictionary
        found = member(found, name)
    return LACKING if found is None else FOUND


def member(found: Any, name: str) -> Any | None:
    """What an object has of that name; of a class also what a subclass has, and what class its instances hold."""
    if not isinstance(found, type) or hasattr(found, name):
        return getattr(found, name, None)
    subclasses: list[type] = found.__subclasses__()
    of_subclasses = (member(cls, name) for cls in subclasses)
    held = getattr(found.__init__, "__annotations__", {}).get(name)
    held = getattr(sys.modules[found.__module__], held, None) if isinstance(held, str) else held
    return next((each for each in of_subclasses if each is not None), held)


if __name__ == "__main__":
    report: Report = {}
    for file in LIBRARIES:
        names = report.setdefault(file, {FOUND: [], LACKING: [], NOT_HERE: []})
        for module, dotted in declared(file):
            names[has(module, dotted)].append(dotted)
    json.dump(report, sys.stdout)
