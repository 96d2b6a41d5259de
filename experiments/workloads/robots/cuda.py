"""This file runs robots in one CUDA kernel that keeps K steps in registers, alone or with the policy that acts; as
cartpole/cuda.py, by CuPy.
"""

from typing import Any

import cupy
import numpy as np
from cartpole.cuda import OPTIONS, check_gpu, free_bytes
from cartpole.limits import check_counts, check_memory
from numpy.typing import NDArray

from robots.model import TASKS
from robots.policy import Data, Gaussian, packed, room, widths_of
from robots.source import NATIVE, robot_of, source_of

#: The headers' lambdas have no `__device__` of their own, which C++ for the host would not know, so NVRTC is told.
ROBOT_OPTIONS = (*OPTIONS, "-default-device")

#: Of a block, at most: robots.cu's kMostThreads. Fewer where there would not be a block for every multiprocessor.
MOST_THREADS, WARP = 128, 32

#: What acts, by variant: in float32, or with the policy's layers in half precision with float32 sums.
COLLECT = {"accurate": "collect", "matrix units": "collect_by_matrices"}


class Cuda:
    """N environments of a robot on a GPU; K steps with random actions, or by a policy, are one launch.

    Attributes:
        name: in what is printed.
        robot: its numbers.
        q: positions, of shape (positions, N), float32.
        v: velocities, of shape (dofs, N), float32.
        lasted: steps of the episodes, of shape (N,), uint16.
        rewards: sum over all steps, of shape (N,), float32.
        ends: episodes so far, of shape (N,), uint32.
        data: of the last call of `collect`; there from the first call of `use` on.
    """

    name = "CUDA"
    data: Data

    def __init__(
        self,
        name: str,
        environments: int,
        steps_per_call: int,
        device: str,
        seed: int,
        variant: str = "accurate",
    ) -> None:
        """Compile the kernel and make the environments; see `simulators.Simulation`.

        Args:
            variant: of COLLECT.
        """
        if variant not in COLLECT:
            raise ValueError(f"expected a variant of CUDA, found {variant!r}; choose one of {', '.join(COLLECT)}")
        check_counts(environments, steps_per_call)
        check_gpu(device)
        self._multiprocessors = cupy.cuda.Device().attributes["MultiProcessorCount"]
        self.robot = robot_of(name)
        rows = (self.robot.positions, self.robot.dofs)
        check_memory(f"CUDA {name}", environments, 4 * sum(rows) + 10, free_bytes(), device)
        self.q, self.v = (cupy.empty((count, environments), cupy.float32) for count in rows)
        self.lasted = cupy.empty(environments, cupy.uint16)
        self.rewards, self.ends = cupy.empty(environments, cupy.float32), cupy.empty(environments, cupy.uint32)
        self._steps_per_call, self._now, self._seed = steps_per_call, 0, np.uint64(seed % 2**64)
        self._robot_name, self._variant = name, variant
        self._kernels = compiled(name, "simulate", "take_steps")

    def simulate(self) -> None:
        """Take K steps; nothing is kept of them but the states, and each environment's rewards and episodes."""
        self._step("simulate")

    def use(self, policy: Gaussian) -> None:
        """Act with these parameters from now on.

        Raises:
            MemoryError: the data do not fit.
        """
        self._parameters = cupy.asarray(packed(policy))
        kernel = COLLECT[self._variant]
        if kernel not in self._kernels:
            environments, steps = len(self.lasted), self._steps_per_call
            observations, *_, motors = widths_of(self.robot)
            bytes_each = steps * (4 * (observations + motors + 2) + 1) + 4 * observations
            check_memory(f"data of CUDA {self._robot_name}", environments, bytes_each, free_bytes(), "cuda")
            self._kernels |= compiled(self._robot_name, kernel)
            self.data = room(cupy, self.robot, steps, environments)

    def collect(self) -> None:
        """Take K steps by the policy that is used, and write the data of them."""
        self._step(COLLECT[self._variant], self._parameters, *self.data)

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

    def _step(self, kernel: str, *further: Any) -> None:
        environments = len(self.lasted)
        arrays = (self.q, self.v, self.lasted, self.rewards, self.ends, *further)
        counts = (np.uint32(environments), np.uint32(self._steps_per_call), np.uint64(self._now))
        self._launch(kernel, environments, *arrays, *counts, self._seed)
        self._now += self._steps_per_call

    def _launch(self, kernel: str, threads: int, *arguments: Any) -> None:
        of_a_block = MOST_THREADS if threads >= MOST_THREADS * self._multiprocessors else WARP
        self._kernels[kernel]((-(-threads // of_a_block),), (of_a_block,), arguments)


def compiled(name: str, *kernels: str) -> dict[str, Any]:
    """Return kernels of a robot for this GPU.

    Raises:
        ValueError: there is no such robot.
    """
    if name not in TASKS:
        raise ValueError(f"expected a robot, found {name!r}; choose one of {', '.join(TASKS)}")
    expressions = {kernel: f"robots::{kernel}<robots::{name}>" for kernel in kernels}
    module = cupy.RawModule(code=kernels_of(name), options=ROBOT_OPTIONS, name_expressions=list(expressions.values()))
    return {kernel: module.get_function(expression) for kernel, expression in expressions.items()}


def kernels_of(name: str) -> str:
    """Return the source of all kernels of a robot."""
    files = (NATIVE / "robots.cu", NATIVE.parents[1] / "cartpole" / "matrix_units.h", NATIVE / "collect.cu")
    return "".join([source_of(name), *(path.read_text() for path in files)])
