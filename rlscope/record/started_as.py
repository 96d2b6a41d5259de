"""The command of a process tells what it is: a service of a library, a worker, or the program's own."""

import sys

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
