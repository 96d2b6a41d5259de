"""This file samples without lock-step: each worker is a process that steps alone, and all meet when they are done."""

import contextlib
import multiprocessing
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from alphazero.group import ending

import rlscope
from sampling.collected import Batch, Collected, merged
from sampling.lock_step import LockStep
from sampling.loss import AllLostError, tell
from sampling.policy import Policy, Weights
from sampling.settings import Settings
from sampling.vectors import Alone, Gymnasium

#: A process that is forked need not import PyTorch, which takes seconds; nothing here has threads yet.
CONTEXT = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Worker:
    """A process and the connection to it."""

    name: str
    process: BaseProcess
    connection: Connection


def work(ours: Connection, theirs: list[Connection], settings: Settings, index: int) -> None:
    """Work as a worker does: whenever it is given weights, it samples with them.

    Args:
        ours: to the process that learns.
        theirs: its ends of this connection and of earlier workers', which this process must not keep open.
        settings: of the run.
        index: which worker it is.
    """
    for end in theirs:
        end.close()
    count = settings.environments_per_worker
    numbers = list(range(index * count, (index + 1) * count))
    sampler = LockStep(settings, numbers, Alone if count == 1 else Gymnasium)
    ours.send(sampler.sizes)
    try:
        while True:
            weights = ours.recv()
            with rlscope.operation("synchronisation"), rlscope.operation("sync_weights"):
                sampler.policy.set_weights(weights)
            with rlscope.phase("sampling"):
                found = sampler.collect()
            ours.send(found)
    except EOFError:
        sampler.close()
    except AllLostError:
        sys.exit(1)  # what each has been lost by is told


class Free:
    """Workers with E environments each: alone for E = 1 ("batched"), else in lock-step with each other ("hybrid").

    Args:
        settings: of the run.
    """

    def __init__(self, settings: Settings) -> None:
        self._workers: list[Worker] = []
        for index in range(settings.workers):
            self._start(settings, index)
        self._lost: list[dict[str, Any]] = []
        sizes = [found for worker in list(self._workers) if (found := self._receive(worker))]
        if not sizes:
            raise AllLostError
        observation, action = sizes[0]
        self._policy = Policy(observation, action, settings.seed)

    @property
    def runners(self) -> list[dict[str, Any]]:
        """Return each worker."""
        return [{"worker": worker.name, "pid": worker.process.pid} for worker in self._workers]

    def collect(self) -> Collected:
        """Return T steps of each environment.

        Raises:
            AllLostError: no worker is left.
        """
        with rlscope.operation("synchronisation"), rlscope.operation("sync_weights"):
            weights = self._policy.weights()
            for worker in list(self._workers):
                self._send(worker, weights)
        parts: list[Collected] = []
        waiting: dict[Any, Worker] = {worker.connection: worker for worker in self._workers}
        while waiting:
            found = [self._receive(waiting.pop(ready)) for ready in connection.wait(list(waiting))]
            parts += [part for part in found if part]
        if not parts:
            raise AllLostError
        lost, self._lost = self._lost, []
        together = merged(parts)
        return replace(together, lost=[*lost, *together.lost])

    def optimize(self, batch: Batch) -> None:
        """Update the policy, whose weights workers are given before they sample."""
        self._policy.update(batch)

    def close(self) -> None:
        """End the workers."""
        for worker in self._workers:
            worker.connection.close()
        for worker in self._workers:
            worker.process.join()

    def _start(self, settings: Settings, index: int) -> None:
        ours, theirs = CONTEXT.Pipe()
        given = [ours, *(worker.connection for worker in self._workers)]
        name = f"worker_{index}"
        process = CONTEXT.Process(target=work, args=(theirs, given, settings, index), name=name)
        process.start()
        theirs.close()
        self._workers.append(Worker(name, process, ours))

    def _send(self, worker: Worker, weights: Weights) -> None:
        with self._losing(worker):
            worker.connection.send(weights)

    def _receive(self, worker: Worker) -> Any:
        """Return what a worker says; None if it is gone."""
        with self._losing(worker):
            return worker.connection.recv()
        return None

    @contextlib.contextmanager
    def _losing(self, worker: Worker) -> Iterator[None]:
        """Run a block that needs a worker: if it is gone, the others go on."""
        try:
            yield
        except (EOFError, ConnectionError):
            self._workers.remove(worker)
            worker.process.join()
            self._lost.append(
                {"worker": worker.name, "pid": worker.process.pid, "ended": ending(worker.process.exitcode)}
            )
            tell(self._lost[-1], f"{len(self._workers)} workers")
