"""This file runs planar robots in one CUDA kernel that keeps K steps in registers; as cartpole/cuda.py, by CuPy."""

from typing import Any

import cupy
import numpy as np
from cartpole.cuda import OPTIONS, check_gpu, free_bytes
from cartpole.limits import check_counts, check_memory
from numpy.typing import NDArray

from robots.model import TASKS, mujoco_model, planar_of
from robots.source import HERE, source_of

#: planar.h's lambdas have no `__device__` of their own, which C++ for the host would not know; NVRTC wants to be told.
ROBOT_OPTIONS = (*OPTIONS, "-default-device")

#: Of a block: robots.cu's kThreads.
THREADS = 128


class Cuda:
    """N environments of a robot on a GPU; K steps with random actions are one launch.

    Attributes:
        robot: its numbers.
        q: positions, of shape (dofs, N), float32.
        v: velocities, likewise.
        lasted: steps of the episodes, of shape (N,), uint16.
        rewards: sum over all steps, of shape (N,), float32.
        ends: episodes so far, of shape (N,), uint32.
    """

    def __init__(self, name: str, environments: int, steps_per_call: int, device: str, seed: int) -> None:
        """Compile the kernel and make the environments; see `simulators.Simulation`."""
        check_counts(environments, steps_per_call)
        check_gpu(device)
        self.robot = planar_of(mujoco_model(name))
        dofs = self.robot.dofs
        check_memory(f"CUDA {name}", environments, 8 * dofs + 10, free_bytes(), device)
        self.q, self.v = cupy.empty((dofs, environments), cupy.float32), cupy.empty((dofs, environments), cupy.float32)
        self.lasted = cupy.empty(environments, cupy.uint16)
        self.rewards, self.ends = cupy.empty(environments, cupy.float32), cupy.empty(environments, cupy.uint32)
        self._steps_per_call, self._now, self._seed = steps_per_call, 0, np.uint64(seed % 2**64)
        self._kernels = compiled(name)

    def simulate(self) -> None:
        """Take K steps; nothing is kept of them but the states, and each environment's rewards and episodes."""
        environments = len(self.lasted)
        arrays = (self.q, self.v, self.lasted, self.rewards, self.ends)
        counts = (np.uint32(environments), np.uint32(self._steps_per_call), np.uint64(self._now))
        self._launch("simulate", environments, *arrays, *counts, self._seed)
        self._now += self._steps_per_call

    def synchronize(self) -> None:
        """Wait for the GPU."""
        cupy.cuda.get_current_stream().synchronize()

    def step(self, q: NDArray[Any], v: NDArray[Any], actions: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        """Return positions and velocities after one physics step of given states, and the iterations of Newton's
        method, as `cpp.Twin.step` does.
        """
        on_gpu = [cupy.asarray(values, cupy.float32, order="C") for values in (q, v, actions)]
        iterations = cupy.empty(len(q), cupy.int32)
        self._launch("take_steps", len(q), *on_gpu, np.uint32(len(q)), iterations)
        return cupy.asnumpy(on_gpu[0]), cupy.asnumpy(on_gpu[1]), cupy.asnumpy(iterations)

    def _launch(self, kernel: str, threads: int, *arguments: Any) -> None:
        self._kernels[kernel]((-(-threads // THREADS),), (THREADS,), arguments)


def compiled(name: str) -> dict[str, Any]:
    """Return the kernels of a robot for this GPU.

    Raises:
        ValueError: there is no such robot.
    """
    if name not in TASKS:
        raise ValueError(f"expected a robot, found {name!r}; choose one of {', '.join(TASKS)}")
    expressions = {kernel: f"robots::{kernel}<robots::{name}>" for kernel in ("simulate", "take_steps")}
    code = source_of(name) + (HERE / "robots.cu").read_text()
    module = cupy.RawModule(code=code, options=ROBOT_OPTIONS, name_expressions=list(expressions.values()))
    return {kernel: module.get_function(expression) for kernel, expression in expressions.items()}
