"""This file runs CartPole in CUDA: alone, or fused with the policy into one kernel that keeps K steps in registers.

The kernels of cartpole.cu are compiled when they are asked for, by NVRTC through CuPy. CuPy needs no toolkit, only
NVRTC (PyPI's nvidia-cuda-nvrtc), is there for CUDA 12 and 13 under one interface, and its arrays are PyTorch's without
a copy. NVIDIA's cuda-core would do as well, with memory, copies and streams in our own code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cupy
import numpy as np
from numpy.typing import NDArray

from cartpole.implementation import Actions, Floats, Implementation, Policy, Trajectory, UnavailableError
from cartpole.limits import check_counts, check_memory, check_trajectory

HERE = Path(__file__).parent

#: Denormal numbers count as zero: nothing here is that small, and divisions need not look out for them.
OPTIONS = ("-std=c++17", "--ftz=true")

#: How a step ends an episode, as cartpole.h numbers it.
TERMINATED, TRUNCATED = 1, 2

#: What a trainer's data add to a variant's name.
WITH_DATA = " + data"

#: Of an environment: four numbers of state, and how long the episode has lasted.
STATE_BYTES, COUNT_BYTES = 16, 2
#: Of a step of an environment in the trainer's data: state, action, log-probability, reward, end.
DATA_BYTES = STATE_BYTES + 1 + 4 + 4 + 1


@dataclass(frozen=True)
class Kernel:
    """A kernel of cartpole.cu.

    Attributes:
        name: without the namespace and the template's arguments.
        arguments: of the template, in C++; empty where it is none.
        threads: of a block.
        shared_bytes: of shared memory that a block takes.
    """

    name: str
    arguments: str
    threads: int
    shared_bytes: int = 0

    @property
    def expression(self) -> str:
        """Return what names it in C++."""
        return f"cartpole::{self.name}<{self.arguments}>" if self.arguments else f"cartpole::{self.name}"


#: The policy's parameters, and of eight warps the states and hidden units that their lanes exchange: PlainShared.
PLAIN_SHARED_BYTES = 96_016

#: What acts, by variant: whether the trainer's data are written is the template's last argument.
COLLECT = {
    "accurate": ("collect", "cartpole::Exact", 256, PLAIN_SHARED_BYTES),
    "approximate": ("collect", "cartpole::Approximate", 256, PLAIN_SHARED_BYTES),
    "matrix units": ("collect_by_matrices", "", 128, 0),
}

#: What computes sines and cosines, by variant. The matrix units are for the policy, and so for `collect` alone.
SIMULATE = {"accurate": "cartpole::Accurate", "approximate": "cartpole::Approximate"}

#: What `variant` may be.
VARIANTS = tuple(f"{variant}{data}" for variant in COLLECT for data in ("", WITH_DATA))


@dataclass(frozen=True)
class Data:
    """This is what a trainer reads, on the GPU.

    Attributes:
        states: before each step and after the last, of shape (K + 1, N, 4), float32.
        actions: of shape (K, N), uint8.
        log_probabilities: of these actions, float32.
        rewards: float32.
        ends: 0, TERMINATED or TRUNCATED, uint8.
    """

    states: Any
    actions: Any
    log_probabilities: Any
    rewards: Any
    ends: Any

    @staticmethod
    def empty(steps: int, environments: int) -> "Data":
        """Return room for so many steps."""
        shape = (steps, environments)
        return Data(
            cupy.empty((steps + 1, environments, 4), cupy.float32),
            cupy.empty(shape, cupy.uint8),
            cupy.empty(shape, cupy.float32),
            cupy.empty(shape, cupy.float32),
            cupy.empty(shape, cupy.uint8),
        )

    def pointers(self) -> tuple[Any, ...]:
        """Return the pointers as the kernels take them."""
        return (self.states, self.actions, self.log_probabilities, self.rewards, self.ends)

    def trajectory(self) -> Trajectory:
        """Return what tests look at, on the host."""
        ends = cupy.asnumpy(self.ends)
        actions = cupy.asnumpy(self.actions).astype(np.int32)
        return Trajectory(cupy.asnumpy(self.states), actions, ends == TERMINATED, ends == TRUNCATED)


class Cuda(Implementation):
    """N environments on a GPU.

    Args:
        variant: one of VARIANTS. "accurate" has the functions of single precision, "approximate" those that are built
            into the chip; "matrix units" computes the policy's layers in half precision with float32 sums.
        state_factor: how many times as much state as CartPole's each environment has.
        compute_factor: in how many parts each step is computed.

    Attributes:
        states: of all environments, of shape (N, 4), on the GPU.
        steps: that the episodes have lasted, of shape (N,).
        extra: rows of state that are there only to be read and written, of shape (state_factor - 1, N, 4); each number
            counts the steps.
        data: of the last call of `collect`, if the variant says so.

    Raises:
        ValueError: in one line; `collect` raises it where a factor is not 1.
    """

    name = "CUDA"

    def __init__(
        self,
        environments: int,
        steps_per_call: int,
        device: str,
        seed: int,
        policy: Policy,
        variant: str = "accurate",
        state_factor: int = 1,
        compute_factor: int = 1,
    ) -> None:
        check_counts(environments, steps_per_call)
        check_options(variant, state_factor, compute_factor)
        check_gpu(device)
        base, _, _ = variant.partition(WITH_DATA)
        has_data = variant.endswith(WITH_DATA)
        bytes_each = STATE_BYTES * state_factor + COUNT_BYTES
        if has_data:
            bytes_each += DATA_BYTES * steps_per_call + STATE_BYTES
        check_memory(self.name, environments, bytes_each, free_bytes(), device)

        self._variant, self._compute_factor = base, compute_factor
        self._is_cartpole = state_factor == compute_factor == 1
        self._environments, self._steps_per_call = np.uint32(environments), np.uint32(steps_per_call)
        self._seed = np.uint64(seed % 2**64)
        self._now = 0
        self.states = cupy.empty((environments, 4), cupy.float32)
        self.steps = cupy.empty(environments, cupy.uint16)
        self.extra = cupy.zeros((state_factor - 1, environments, 4), cupy.float32)
        self.data = Data.empty(steps_per_call, environments) if has_data else None
        self._kernels: dict[Kernel, Any] = {}
        self.use(policy)
        self._launch(Kernel("begin", "", 256), environments, self.states, self.steps, self._environments, self._seed)

    def use(self, policy: Policy) -> None:
        """Act with other parameters from now on."""
        self._parameters = cupy.asarray(packed(policy))

    def collect(self) -> None:
        """Take K steps in one launch; nothing is kept of them but the states, and the data if the variant says so."""
        self._collect(self.data)

    def simulate(self) -> None:
        """Take K steps in one launch with random actions; nothing is kept of them but the states."""
        if self._variant not in SIMULATE:
            known = " or ".join(SIMULATE)
            raise ValueError(
                f"expected {known} to simulate without a policy, found {self._variant}; choose one of them"
            )
        fours = self.extra.size // 4
        self._launch(
            Kernel("simulate", f"{SIMULATE[self._variant]}, {self._compute_factor}", 128),
            max(int(self._environments), min(fours, resident_threads())),
            self.states,
            self.steps,
            self.extra,
            np.uint64(fours),
            self._environments,
            self._steps_per_call,
            np.uint64(self._now),
            self._seed,
        )
        self._now += int(self._steps_per_call)

    def synchronize(self) -> None:
        """Wait for the GPU."""
        cupy.cuda.get_current_stream().synchronize()

    def replay(self, states: Floats, steps: NDArray[np.int32], actions: Actions) -> Trajectory:
        """Return what given actions do, in the kernel that collects data; the environments of `collect` stay as
        they are.
        """
        check_trajectory(self.name, len(states), len(actions), free_bytes(), "cuda")
        data, given = Data.empty(*actions.shape), cupy.asarray(actions, cupy.uint8)
        self._launch_collect(cupy.asarray(states, cupy.float32), cupy.asarray(steps, cupy.uint16), data, given)
        return data.trajectory()

    def rollout(self) -> Trajectory:
        """Return what `collect` does, seen: by the same kernel, which writes the trainer's data."""
        data = self.data
        if data is None:
            check_trajectory(self.name, int(self._environments), int(self._steps_per_call), free_bytes(), "cuda")
            data = Data.empty(int(self._steps_per_call), int(self._environments))
        self._collect(data)
        return data.trajectory()

    def _collect(self, data: Data | None) -> None:
        if not self._is_cartpole:
            raise ValueError("expected factors of 1 to collect data, found larger ones; only simulate with these")
        self._launch_collect(self.states, self.steps, data)
        self._now += int(self._steps_per_call)

    def _launch_collect(self, states: Any, steps: Any, data: Data | None, given: Any = None) -> None:
        name, math, threads, shared_bytes = COLLECT[self._variant]
        writes = "false" if data is None else "true"
        count = self._steps_per_call if given is None else np.uint32(len(given))
        nothing = np.uint64(0)
        self._launch(
            Kernel(name, f"{math}, {writes}" if math else writes, threads, shared_bytes),
            len(states),
            states,
            steps,
            self._parameters,
            np.uint32(len(states)),
            count,
            np.uint64(self._now),
            self._seed,
            nothing if given is None else given,
            *(data.pointers() if data else (nothing,) * 5),
        )

    def _launch(self, kernel: Kernel, threads: int, *arguments: Any) -> None:
        """Launch at least so many threads, in whole blocks."""
        if kernel not in self._kernels:
            self._kernels[kernel] = compiled(kernel)
        blocks = -(-threads // kernel.threads)
        self._kernels[kernel]((blocks,), (kernel.threads,), arguments, shared_mem=kernel.shared_bytes)


def packed(policy: Policy) -> Floats:
    """Return the policy's parameters as cartpole.cu's `Parameters` has them."""
    first, second, third = (weight.astype(np.float32) for weight in policy.weights)
    first_bias, second_bias, third_bias = policy.biases

    def interleaved(units: Floats) -> Floats:
        # Units are the last axis: 32a + 8b + c moves to 32a + 4c + b.
        return units.reshape(-1, 2, 4, 8).swapaxes(2, 3)

    parts: Sequence[Floats] = (
        interleaved(first.T),
        interleaved(first_bias),
        second.T,
        second_bias,
        third[1] - third[0],
        np.array([third_bias[1] - third_bias[0], 0, 0, 0]),
    )
    return np.concatenate([part.ravel() for part in parts]).astype(np.float32)


def source() -> str:
    """Return the kernels, with what they have in common with C++ before them: CuPy's cache knows no included files."""
    return "".join((HERE / name).read_text() for name in ("cartpole.h", "matrix_units.h", "cartpole.cu"))


def compiled(kernel: Kernel) -> Any:
    """Return the kernel for this GPU."""
    module = cupy.RawModule(code=source(), options=OPTIONS, name_expressions=[kernel.expression])
    function = module.get_function(kernel.expression)
    function.max_dynamic_shared_size_bytes = kernel.shared_bytes
    return function


def check_options(variant: str, state_factor: int, compute_factor: int) -> None:
    """Refuse options that are unknown or not positive.

    Raises:
        ValueError: in one line.
    """
    if variant not in VARIANTS:
        raise ValueError(f"expected a variant of CUDA, found {variant!r}; choose one of {', '.join(VARIANTS)}")
    for name, factor in (("state", state_factor), ("compute", compute_factor)):
        if factor < 1:
            raise ValueError(f"expected at least 1 for the {name} factor, found {factor}; give a positive number")


def check_gpu(device: str) -> None:
    """Refuse a machine without a GPU or NVRTC.

    Raises:
        UnavailableError: in one line.
    """
    if device != "cuda":
        raise UnavailableError(f"CUDA on {device}: not testable here: it is for GPUs; use the device cuda")
    try:
        cupy.cuda.runtime.getDeviceCount()
        cupy.cuda.nvrtc.getVersion()
    except (RuntimeError, ImportError) as error:  # from CUDA, and from where NVRTC is looked for
        reason = str(error).splitlines()[0]
        raise UnavailableError(f"CUDA: not testable here: {reason}; it needs a GPU, its driver, and NVRTC") from error


def resident_threads() -> int:
    """Return how many threads the GPU runs at once."""
    attributes = cupy.cuda.Device().attributes
    return int(attributes["MultiProcessorCount"] * attributes["MaxThreadsPerMultiProcessor"])


def free_bytes() -> int:
    """Return the memory that is free on the GPU, with what CuPy keeps for later."""
    free, _ = cupy.cuda.runtime.memGetInfo()
    return int(free + cupy.get_default_memory_pool().free_bytes())
