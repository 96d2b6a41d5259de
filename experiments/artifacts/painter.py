"""This file draws studies in a process of its own, while runs are recorded."""

import ctypes
import multiprocessing
import os
import signal
import sys
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass

from experiments.artifacts.study import PlannedStudy, draw
from experiments.command_line import Outcome
from experiments.harness.progress import Recorded
from experiments.overhead_correction.first_calibration import is_calibrated
from rlscope.errors import RLScopeError

PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Found:
    """This is what there is of a study at some time; when it changes, the study is drawn again.

    Attributes:
        recorded: its runs that ended well, and what there is to say of others.
        repetitions: how many repetitions of all its workloads have ended.
        is_calibrated: whether it was known by then what recording costs.
    """

    recorded: Recorded
    repetitions: int
    is_calibrated: bool

    def is_of_now(self, study: PlannedStudy, recorded: Recorded) -> bool:
        """Return whether nothing has changed since: neither the study's runs, nor whether recording's cost is known."""
        then = self.recorded
        return (
            then.executed_of(study.runs) == recorded.executed_of(study.runs)
            and then.failures_of(study.runs) == recorded.failures_of(study.runs)
            and self.is_calibrated == is_calibrated()
        )


@dataclass(frozen=True)
class Drawing:
    """A study that has been drawn, or could not be.

    Attributes:
        found: what it is drawn from.
        outcome: what came out; None where it could not be drawn.
        problem: why not; empty where it was drawn.
    """

    found: Found
    outcome: Outcome | None
    problem: str = ""


class Painter:
    """Draws one study at a time, with what the runs leave of the processor."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._current: tuple[PlannedStudy, Found, Future[Outcome]] | None = None

    @property
    def is_free(self) -> bool:
        """Return whether nothing is being drawn."""
        return self._current is None

    def start(self, study: PlannedStudy, found: Found) -> None:
        """Begin to draw a study; only where the painter is free."""
        # The process inherits the mask: Ctrl-C, which reaches all, is to find a page finished.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        if self._pool is None:
            context = multiprocessing.get_context("spawn")  # a fork would have the threads of Ray half
            self._pool = ProcessPoolExecutor(1, context, stand_back, (sys.orig_argv,))
        self._current = study, found, self._pool.submit(draw, study, found.recorded)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def take(self) -> tuple[PlannedStudy, Drawing] | None:
        """Return the study whose drawing has ended, if one has."""
        if self._current is None or not self._current[2].done():
            return None
        study, found, future = self._current
        self._current = None
        error = future.exception()
        if error is None:
            return study, Drawing(found, future.result())
        # What nobody has foreseen is raised when the study is drawn for good; until then recording goes on.
        problem = str(error) if isinstance(error, RLScopeError) else f"{type(error).__name__}: {error}"
        if not isinstance(error, RLScopeError):
            self.stop()  # a process that has crashed draws nothing more
        return study, Drawing(found, None, problem)

    def stop(self) -> tuple[PlannedStudy, Drawing] | None:
        """End the process, after the study that it is drawing; return that one."""
        if self._pool is None:
            return None
        self._pool.shutdown()
        self._pool = None
        return self.take()

    def abandon(self) -> None:
        """End the process at once; what it was drawing is to be drawn again, by a process that need not stand back.

        It may not be asked to hurry instead: without privileges, nobody gets out of SCHED_IDLE.
        """
        if self._pool is not None:
            for process in multiprocessing.active_children():
                process.kill()
            self._pool.shutdown()
        self._pool = self._current = None


def stand_back(command: list[str]) -> None:
    """Disturb no run, end with the process that began this one, and name its command as the origin of results."""
    sys.orig_argv = command
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
