"""This file starts processes that make a run together: if one fails, all are ended."""

import multiprocessing
import signal
from collections.abc import Callable, Iterable
from multiprocessing import connection
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

#: CUDA cannot be used in a process that was forked.
CONTEXT = multiprocessing.get_context("spawn")


class ProcessFailedError(Exception):
    """A process of the group ended before its work was done."""


class Group:
    """Processes, each with a connection on which it says what came of its work; an error in the block kills them."""

    def __init__(self) -> None:
        self._processes: dict[str, multiprocessing.process.BaseProcess] = {}
        self._answers: dict[Connection, str] = {}
        self._results: dict[str, Any] = {}

    def __enter__(self) -> "Group":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is not None:
            for process in self._processes.values():
                process.kill()
        for process in self._processes.values():
            process.join()

    def start(self, name: str, work: Callable[..., Any], *arguments: object, gives: Iterable[Connection] = ()) -> None:
        """Start a process.

        Args:
            name: of the process.
            work: what it does: what it returns is its result.
            arguments: of `work`.
            gives: connections among the arguments, which this process must not keep open: where a process has ended,
                others wait for it until all copies of its end are closed.
        """
        receiving, answer = CONTEXT.Pipe(duplex=False)
        process = CONTEXT.Process(target=report, args=(answer, work, *arguments), name=name, daemon=True)
        process.start()
        for given in (answer, *gives):
            given.close()
        self._processes[name], self._answers[receiving] = process, name

    def result(self, wanted: str) -> Any:
        """Return what came of a process's work, waiting for it while the others go on.

        Raises:
            ProcessFailedError: a process, this one or another, ended without a result.
        """
        while wanted not in self._results:
            failed = []
            ready = connection.wait(list(self._answers))
            for answer in [answer for answer in self._answers if answer in ready]:
                name = self._answers.pop(answer)
                try:
                    self._results[name] = answer.recv()
                except EOFError:
                    failed.append(self._failure(name))
            if failed:
                raise ProcessFailedError(
                    f"expected a result of each process, found that {' and '.join(failed)}; what is printed above says "
                    "why"
                )
        return self._results[wanted]

    def _failure(self, name: str) -> str:
        process = self._processes[name]
        process.join()
        return f"{name} (pid {process.pid}) ended {ending(process.exitcode)}"


def ending(status: int | None) -> str:
    """Return how a process ended, in words."""
    if status is not None and status < 0:
        return f"by signal {signal.Signals(-status).name}"
    return f"with status {status}"


def report(answer: Connection, work: Callable[..., Any], *arguments: object) -> None:
    """Work in a process of its own, and send what came of it."""
    answer.send(work(*arguments))
