"""Twins: one program in several processes that differ in how they are recorded and take turns, burst by burst.

Machines drift by more than recording adds, over any time that it takes to switch a recording on: the interpreter has to
specialize its instructions anew. Twins switch nothing. Each runs on from where its last burst ended, as a program does,
while the others wait; bursts are so short, and follow each other in such an order, that what the machine does meanwhile
is the same for all.
"""

from __future__ import annotations

import json
import os
import random
import struct
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rlscope import _native
from rlscope.errors import RecordingError
from rlscope.record import recorder
from rlscope.record.config import RecordConfig
from rlscope.record.trace_directory import begin_trace, end_trace, name_main_process

#: Phases of a recorded twin's trace: while it gets under way; the bursts that count; while the others have their turn.
SETTLING, MEASURED = "settling", "measured"

Tick = Callable[[], None]
#: Runs for ever and calls its argument between bursts: all twins at the same places. Random numbers are its own affair.
Program = Callable[[Tick], object]


@dataclass(frozen=True)
class Twin:
    """How one of the processes is recorded.

    Attributes:
        config: what is recorded; None: nothing.
        amplification: how many times the work of each record is done.
        prepare: called once recording has begun, before the program.
    """

    config: RecordConfig | None = None
    amplification: int = 1
    prepare: Callable[[], object] = bool


def run_twins(
    twins: Mapping[str, Twin],
    program: Program,
    directory: Path,
    seconds: float,
    settling: int,
    clock: Callable[[], int] = time.thread_time_ns,
) -> dict[str, NDArray[np.int64]]:
    """Runs them, all on one processor.

    Args:
        twins: by name.
        program: what they run. It is called after the fork, so that each has its own of all that cannot be forked.
        directory: for a trace of each recorded twin, under the twin's name.
        seconds: how long to measure, besides settling.
        settling: bursts of each to be left out.
        clock: measures bursts, in ns.

    Returns:
        The lengths in ns of each twin's bursts, those of one place in the program at one index.

    Raises:
        RecordingError: one of them ended; what it said is on stderr.
    """
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    running: dict[str, _Running] = {}
    try:
        for name in random.sample(list(twins), len(twins)):  # those that are forked later tend to be faster
            running[name] = _Running(name, twins[name], program, directory / name, clock)
        for _ in range(settling):
            for each in running.values():
                each.burst(SETTLING)
        lengths: dict[str, list[int]] = {name: [] for name in twins}
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline or not lengths[next(iter(twins))]:
            for name in random.sample(list(twins), len(twins)):
                lengths[name].append(running[name].burst(MEASURED))
    finally:
        for each in running.values():
            each.dismiss()
        for each in running.values():  # only now: a twin has inherited the pipes of those before it
            each.wait()
    return {name: np.array(found, dtype=np.int64) for name, found in lengths.items()}


class _Running:
    """A twin as the process that controls it sees it."""

    def __init__(self, name: str, twin: Twin, program: Program, directory: Path, clock: Callable[[], int]) -> None:
        self._name = name
        go, self._go = os.pipe()
        self._done, done = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._go)
            os.close(self._done)
            _live(twin, program, directory, _Turns(go, done, clock))
        os.close(go)
        os.close(done)
        self._length()  # before the next one starts: two at once would be in each other's way

    def burst(self, phase: str) -> int:
        """Gives it its turn, and returns how long that took in ns."""
        try:
            os.write(self._go, phase[0].encode())
        except BrokenPipeError:
            raise self._ended() from None
        return self._length()

    def dismiss(self) -> None:
        """Has it complete its trace and end."""
        os.close(self._go)

    def wait(self) -> None:
        """Until it has ended."""
        os.waitpid(self._pid, 0)
        os.close(self._done)

    def _length(self) -> int:
        said = os.read(self._done, 8)
        if len(said) != 8:
            raise self._ended()
        return int(struct.unpack("q", said)[0])

    def _ended(self) -> RecordingError:
        return RecordingError(f"a program was expected to run on, but the one in which {self._name} was recorded ended")


class _Over(BaseException):
    """There are no more turns."""


class _Turns:
    """A twin's own view: waits for its turns and times them."""

    def __init__(self, go: int, done: int, clock: Callable[[], int]) -> None:
        self._go = go
        self._done = done
        self._clock = clock
        self._started = clock()
        self._phases = {phase[0].encode(): _native.phase(phase) for phase in (SETTLING, MEASURED)}
        self._phase: _native.Scope | None = None

    def tick(self) -> None:
        """Ends a burst, and begins the next one when it is this twin's turn again.

        Raises:
            _Over: there is no next one.
        """
        length = self._clock() - self._started
        self.leave()
        os.write(self._done, struct.pack("q", length))
        turn = os.read(self._go, 1)
        if not turn:
            raise _Over
        self._phase = self._phases[turn]
        self._phase.__enter__()
        self._started = self._clock()

    def leave(self) -> None:
        """Ends the phase of the burst."""
        if self._phase is not None:
            self._phase.__exit__(None, None, None)
            self._phase = None


def _live(twin: Twin, program: Program, directory: Path, turns: _Turns) -> None:
    """The forked process, from its beginning to its end."""
    status = 1
    try:
        if twin.config is not None:
            begin_trace(directory, twin.config, command=None, is_forced=False)
            name_main_process(directory, os.getpid())
            recorder.activate(directory, twin.config)
            _native.amplify(twin.amplification)
            _native.write_properties(json.dumps({"amplification": twin.amplification}))
        twin.prepare()
        try:
            program(turns.tick)
        except _Over:
            status = 0
        turns.leave()
        if twin.config is not None:
            recorder.deactivate()
            end_trace(directory, exit_status=status)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)
