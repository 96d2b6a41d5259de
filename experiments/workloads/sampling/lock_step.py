"""This file samples in lock-step: every environment steps, then all wait for the slowest of them."""

import contextlib
import time
from collections.abc import Iterator
from multiprocessing import connection
from typing import Any

import numpy as np
from alphazero.group import ending

from sampling.collected import Batch, Collected, VectorStep, collected
from sampling.environments import makers
from sampling.loss import AllLostError, WorkersLostError, tell, watching
from sampling.policy import Policy
from sampling.settings import Settings
from sampling.vectors import Vectorize


class LockStep:
    """Environments in a vector, and the policy that acts in all of them at once.

    Where processes of the vector end, a new one is made of the environments that are left: neither library can go on
    with fewer, and what the others were about to answer is lost. These environments draw their episodes' ends anew.

    Args:
        settings: of the run.
        numbers: of the environments.
        vectorize: makes a vector of them.

    Attributes:
        sizes: numbers in an observation and in an action.
        policy: that acts.
    """

    def __init__(self, settings: Settings, numbers: list[int], vectorize: Vectorize) -> None:
        self._settings = settings
        self._numbers = numbers
        self._vectorize = vectorize
        self._lost: list[dict[str, Any]] = []
        self._start()
        self.sizes = (self._observations.shape[1], self._vector.action_size)
        self.policy = Policy(*self.sizes, settings.seed + numbers[0])
        self.policy.act(self._observations)  # what PyTorch does once, it does now

    @property
    def runners(self) -> list[dict[str, Any]]:
        """Return each environment's process, where it has its own."""
        named = zip(self._numbers, self._vector.processes, strict=False)
        return [{"worker": f"environment {number}", "pid": process.pid} for number, process in named]

    def collect(self) -> Collected:
        """Return T steps of each environment.

        Raises:
            AllLostError: no process is left.
        """
        begin_ns = time.perf_counter_ns()
        steps: list[VectorStep] = []
        while len(steps) < self._settings.steps:
            with self._losing():
                while len(steps) < self._settings.steps:
                    steps.append(self._step())
        seconds = (time.perf_counter_ns() - begin_ns) / 1e9
        lost, self._lost = self._lost, []
        return collected(steps, seconds, lost)

    def optimize(self, batch: Batch) -> None:
        """Update the policy."""
        self.policy.update(batch)

    def close(self) -> None:
        """End the processes."""
        self._vector.close()

    def _start(self) -> None:
        self._vector = self._vectorize(makers(self._settings, self._numbers))
        with self._losing():
            self._observations = self._vector.reset()

    @contextlib.contextmanager
    def _losing(self) -> Iterator[None]:
        """Run a block that needs the processes: if one ends, the others are started anew."""
        try:
            with watching(self._vector.processes):
                yield
        except (WorkersLostError, EOFError, ConnectionError):
            self._lose()
            self._start()

    def _step(self) -> VectorStep:
        before = self._observations
        begin_ns = time.perf_counter_ns()
        actions = self.policy.act(before)
        acted_ns = time.perf_counter_ns()
        self._observations, rewards, ends = self._vector.step(actions)
        stepped_ns = time.perf_counter_ns()
        took_ns = (acted_ns - begin_ns, stepped_ns - acted_ns)
        return VectorStep(before, actions, rewards.astype(np.float32), *took_ns, int(ends.sum()))

    def _lose(self) -> None:
        """Find the processes that have ended, and end the others.

        Raises:
            AllLostError: there are no others.
        """
        processes, runners = self._vector.processes, self.runners
        ending_now = connection.wait([process.sentinel for process in processes])
        ended = [index for index, process in enumerate(processes) if process.sentinel in ending_now]
        for index in ended:
            processes[index].join()  # what it had open closes before there is a status
        lost = [{**runners[index], "ended": ending(processes[index].exitcode)} for index in ended]
        for process in processes:
            process.kill()
            process.join()
        self._vector.abandon()
        self._numbers = [number for index, number in enumerate(self._numbers) if index not in ended]
        for one in lost:
            tell(one, f"{len(self._numbers)} environments")
        self._lost += lost
        if not self._numbers:
            raise AllLostError
