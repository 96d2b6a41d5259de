"""Runs one implementation of CartPole as the file PROBLEM says; leaves what it did in the file OUTPUT.

    python cartpole_runs.py WORKLOADS NAME DEVICE PROBLEM OUTPUT [VARIANT]

Prints what it says about sizes that cannot be, as JSON. Exits with status 3 where it is not available, which it says on
standard output.
"""

import contextlib
import json
import sys

import numpy as np

workloads, name, device, problem_file, output_file = sys.argv[1:6]
options = {"variant": sys.argv[6]} if len(sys.argv) > 6 else {}
sys.path.insert(0, workloads)

from cartpole.implementation import WIDTHS, Implementation, Policy, Trajectory, UnavailableError  # noqa: E402
from cartpole.table import load  # noqa: E402

SEED = 3

problem = np.load(problem_file)
layers = range(len(WIDTHS) - 1)
policy = Policy([problem[f"weight{layer}"] for layer in layers], [problem[f"bias{layer}"] for layer in layers])
output = {}


def make(environments: int, steps_per_call: int) -> Implementation:
    return load(name)(environments, steps_per_call, device, SEED, policy, **options)


def keep(label: str, trajectory: Trajectory) -> None:
    for part in ("states", "actions", "terminated", "truncated"):
        output[f"{label}.{part}"] = getattr(trajectory, part)


def complaint(environments: int, steps_per_call: int) -> list[str]:
    try:
        make(environments, steps_per_call)
    except (ValueError, MemoryError) as error:
        return [type(error).__name__, str(error)]
    return ["", "no complaint"]


try:
    few = make(64, 8)
except UnavailableError as error:
    print(error)
    sys.exit(3)

# What `collect` does is what `rollout` shows: after one of them, the same seed goes on in the same way.
keep("rolled out", few.rollout())
keep("after rollout", few.rollout())
del few
few = make(64, 8)
few.collect()
few.synchronize()
keep("after collect", few.rollout())
del few

many = make(int(problem["environments"]), int(problem["steps_per_call"]))
keep("rollout", many.rollout())
keep("replay", many.replay(problem["states"], problem["steps"], problem["actions"]))
del many

once = make(int(problem["environments"]), 1)
keep("before simulate", once.rollout())
with contextlib.suppress(ValueError):  # not every variant does
    once.simulate()
    once.synchronize()
    keep("after simulate", once.rollout())

np.savez(output_file, **output)
sizes = {"no environments": (0, 1), "no steps": (1, 0), "fewer": (-5, 1), "too many": (10**13, 10)}
print(json.dumps({label: complaint(*size) for label, size in sizes.items()}))
