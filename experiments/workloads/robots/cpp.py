"""This file compiles a robot as C++ for the host and steps it there: the twin of the CUDA kernel, for tests."""

import ctypes
import functools
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robots.model import TASKS
from robots.policy import Data, Gaussian, packed
from robots.source import NATIVE, robot_of, source_of

Array = NDArray[Any]


class Environments(NamedTuple):
    """All environments of a robot, as `cuda.Cuda` has them."""

    q: Array
    v: Array
    lasted: Array
    rewards: Array
    ends: Array


class Twin:
    """A robot in C++.

    Args:
        name: of TASKS.
        kind: np.float32 or np.float64, the precision of its numbers.

    Attributes:
        robot: its numbers.
    """

    def __init__(self, name: str, kind: Any = np.float32) -> None:
        self.robot = robot_of(name)
        self._kind = np.dtype(kind)
        self._library = compiled(name)
        self._suffix = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}[self._kind]

    def matrices(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Return mass matrices and bias forces, in the axes of the world.

        Args:
            q: positions, of shape (N, positions).
            v: velocities, of shape (N, dofs).
        """
        count, dofs = v.shape
        masses, biases = np.zeros((count, dofs, dofs), self._kind), np.zeros((count, dofs), self._kind)
        self._call("matrices", self._copy(q), self._copy(v), count, masses, biases)
        return masses, biases

    def step(self, q: Array, v: Array, actions: Array) -> tuple[Array, Array, Array]:
        """Return positions and velocities after one physics step, and the iterations of Newton's method.

        Args:
            q: positions, of shape (N, positions).
            v: velocities, of shape (N, dofs).
            actions: of shape (N, motors).
        """
        q, v = self._copy(q), self._copy(v)
        iterations = np.zeros(len(q), np.int32)
        self._call("steps", q, v, self._copy(actions), len(q), iterations)
        return q, v, iterations

    def environments(self, count: int) -> "Environments":
        """Return environments that are to begin."""
        return Environments(
            np.zeros((self.robot.positions, count), np.float32),
            np.zeros((self.robot.dofs, count), np.float32),
            np.zeros(count, np.uint16),
            np.zeros(count, np.float32),
            np.zeros(count, np.uint32),
        )

    def simulate(self, at: "Environments", steps: int, first: int, seed: int) -> None:
        """Take steps with random actions, in single precision, as one launch of the CUDA kernel does.

        Args:
            at: the environments, which are changed; they begin before step 0.
            steps: how many.
            first: the number of the first one.
            seed: of starts and of actions.
        """
        numbers = (len(at.lasted), steps, ctypes.c_uint64(first), ctypes.c_uint64(seed))
        self._library.simulate(*map(pointer, at), *numbers)

    def use(self, policy: Gaussian) -> None:
        """Act with these parameters from now on."""
        self._parameters = packed(policy)

    def collect(self, at: "Environments", data: Data, first: int, seed: int) -> None:
        """Take steps by the policy, in single precision, as one launch of the CUDA kernel does.

        Args:
            at: the environments, which are changed; they begin before step 0.
            data: what is to be filled, as `policy.room` makes it; it says how many steps.
            first: the number of the first one.
            seed: of starts and of actions.
        """
        numbers = (len(at.lasted), len(data.actions), ctypes.c_uint64(first), ctypes.c_uint64(seed))
        self._library.collect(*map(pointer, (*at, self._parameters, *data)), *numbers)

    def _copy(self, values: Array) -> Array:
        return np.array(values, self._kind, order="C")

    def _call(self, name: str, *arguments: Any) -> None:
        pointers = [pointer(argument) if isinstance(argument, np.ndarray) else argument for argument in arguments]
        getattr(self._library, f"{name}_{self._suffix}")(*pointers)


def pointer(array: Array) -> ctypes.c_void_p:
    """Return where its numbers begin."""
    return array.ctypes.data_as(ctypes.c_void_p)


@functools.cache
def compiled(name: str) -> ctypes.CDLL:
    """Return the library of a robot, which is compiled once a process; `CXX` says by what (c++).

    Raises:
        ValueError: there is no such robot.
        RuntimeError: it cannot be compiled; the message has what the compiler says.
    """
    if name not in TASKS:
        raise ValueError(f"expected a robot, found {name!r}; choose one of {', '.join(TASKS)}")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "twin.so"
        source = source_of(name) + f"#define ROBOT {name}\n" + (NATIVE / "twin.cpp").read_text()
        command = [
            os.environ.get("CXX", "c++"),
            "-std=c++17",
            "-O2",
            "-ffp-contract=off",
            "-Wall",
            "-Wextra",
            "-Werror",
        ]
        command += ["-shared", "-fPIC", "-x", "c++", "-", "-o", str(library)]
        finished = subprocess.run(command, input=source, text=True, capture_output=True, check=False)
        if finished.returncode:
            raise RuntimeError(f"expected the robot to compile, found: {finished.stderr[:2000]}")
        return ctypes.CDLL(str(library))
