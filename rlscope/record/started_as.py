"""The command of a process tells what it is: a service of a library, a worker, or the program's own.

What else is known of it without its doing is here as well: versions, threads, and where its packages are.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as `typing` has it, whose import takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

#: By a part of the command: services of libraries, which do none of the program's work.
SERVICES = {
    "multiprocessing.forkserver": "forkserver",
    "multiprocessing.resource_tracker": "resource_tracker",
    "ray/_private/log_monitor.py": "ray_log_monitor",
    "ray/_private/runtime_env/agent/main.py": "ray_runtime_env_agent",
    "ray/autoscaler/_private/monitor.py": "ray_monitor",
    "ray/dashboard/agent.py": "ray_dashboard_agent",
    "ray/dashboard/dashboard.py": "ray_dashboard",
}
#: The same of processes that a library starts for the program's work, and may give a better name later.
WORKERS = {"ray/_private/workers/default_worker.py": "ray_worker"}


def known_properties() -> dict[str, str]:
    """Return the properties `role` and `process_name` of this process; empty where its command says nothing of them."""
    command = " ".join(sys.orig_argv)
    for role, names in (("infrastructure", SERVICES), ("worker", WORKERS)):
        for part, name in names.items():
            if part in command:
                return {"role": role, "process_name": name}
    return {}


def is_worker() -> bool:
    """Tell whether this process is not the program's own, but works for it."""
    return bool(known_properties()) or "--multiprocessing-fork" in sys.orig_argv


def properties_at_end(packages: Iterable[str]) -> dict[str, Any]:
    """Return what is known when a recording ends: versions of packages, their directories, names of threads by id.

    Ids are the system's. Directories are told as `pip install --target` does it, other than where Python has them.
    """
    loaded = {name: getattr(sys.modules.get(name), "__version__", None) for name in packages}
    threading = sys.modules.get("threading")
    threads = threading.enumerate() if threading is not None else []
    return {
        "versions": {name: version for name, version in loaded.items() if isinstance(version, str)},
        "threads": {str(thread.native_id): thread.name for thread in threads},
        "package_directories": [*_package_directories()],
        **settings(),
    }


#: What makes a program slow while somebody looks for an error; with None whatever the variable has but 0.
_DEBUGGING = {
    "CUDA_LAUNCH_BLOCKING": None,
    "NUMBA_DISABLE_JIT": None,
    "JAX_DISABLE_JIT": None,
    "JAX_DEBUG_NANS": None,
    "PYTORCH_NO_CUDA_MEMORY_CACHING": None,
    "TORCH_DISTRIBUTED_DEBUG": "DETAIL",
    "PYTHONMALLOC": "debug",
}


def settings() -> dict[str, Any]:
    """Return what a program may have set: modes for finding errors, and what PyTorch has."""
    is_tracing = getattr(sys.modules.get("tracemalloc"), "is_tracing", bool)
    modes = [f"{name}={found}" for name, wanted in _DEBUGGING.items() if _is_set(found := os.environ.get(name), wanted)]
    modes += ["tracemalloc"] * is_tracing() + ["python -X dev"] * sys.flags.dev_mode
    return {"debug_modes": modes, **_of_torch()}


def _is_set(found: str | None, wanted: str | None) -> bool:
    return found == wanted if wanted else bool(found) and found not in ("0", "False", "false")


def _of_torch() -> dict[str, Any]:
    """Return what a program may have set in PyTorch: the threads of its operators, and the type of new tensors."""
    torch: Any = sys.modules.get("torch")
    if not hasattr(torch, "get_num_threads") or not hasattr(torch, "get_default_dtype"):  # its import has failed
        return {}
    return {"operator_threads": torch.get_num_threads(), "default_dtype": str(torch.get_default_dtype())}


def _package_directories() -> Iterable[str]:
    """Yield directories of packages that tell of themselves as those that pip installs."""
    for each in dict.fromkeys(sys.path):
        directory = os.path.abspath(each) if isinstance(each, str) else ""
        if os.path.basename(directory) in ("", "site-packages", "dist-packages"):
            continue
        try:
            names = os.listdir(directory)
        except OSError:  # an archive, or nothing
            continue
        if any(name.endswith(".dist-info") for name in names):
            yield directory
