"""This file runs twins: one program in several processes that take turns, burst by burst, each recorded another way.

Machines drift by more than recording adds, over any time that it takes to settle after a recording is switched on: the
interpreter has to specialize its instructions anew. Twins go on from where their last burst ended, as a program does,
while the others wait; bursts are so short, and follow each other in such an order, that what the machine does meanwhile
is the same for all. And where its memory happens to lie makes one process faster than another, by up to a per cent. So
now and then they swap roles: each is as often the one that is not recorded as it is any other.
"""

from __future__ import annotations

import json
import os
import random
import struct
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rlscope import _native
from rlscope.errors import RecordingError
from rlscope.libraries import LIBRARIES
from rlscope.record import recorder
from rlscope.record.config import RecordConfig
from rlscope.record.run.trace_directory import begin_trace, end_trace, name_main_process

#: Phases of a recorded twin's trace: the bursts after a swap of roles, and those that count.
SETTLING, MEASURED = "settling", "measured"

Tick = Callable[[], None]
#: Tells nanoseconds.
Clock = Callable[[], int]
#: Runs for ever and calls its argument between bursts: all twins at the same places. Random numbers are its own affair.
Program = Callable[[Tick], object]


@dataclass(frozen=True)
class Twin:
    """A role: how a process is recorded while it has it.

    Attributes:
        config: what is recorded; None: nothing.
        amplification: how many times the work of each record is done.
        prepare: called when recording has begun.
    """

    config: RecordConfig | None = None
    amplification: int = 1
    prepare: Callable[[], object] = bool


def run_twins(
    twins: Mapping[str, Twin],
    program: Program,
    directory: Path,
    seconds: float,
    swaps: int,
    settling: int,
    cycle: int = 1,
    has_device: bool = False,
    clock: Clock | None = None,
) -> dict[str, NDArray[np.int64]]:
    """Run as many processes as there are roles, all on one processor; on two, if a device works for them.

    Such a program's own threads launch while others wait, and what the device has done is read beside them. Its bursts
    must end when the device has finished: else it would work on in those of the others.

    Args:
        twins: the roles by name.
        program: what they run. It is called after the fork, so that each has its own of all that cannot be forked.
        directory: for a trace of each recorded role, under its name, with a file for each time that it was swapped.
        seconds: how long to measure, besides settling.
        swaps: how often each process takes each role.
        settling: bursts that are left out whenever roles were swapped.
        cycle: of the program's bursts; roles are swapped after whole cycles. Divides `settling`.
        has_device: whether a device works for the program. Bursts are then measured by the clock on the wall, else by
            the thread's processor time, of which a device's work is no part.
        clock: what bursts are measured by, where it is neither of these.

    Returns:
        The lengths in ns of the bursts of each role: those of one place in the program at one index, whole cycles.

    Raises:
        RecordingError: one of them ended; what it said is on stderr.
    """
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-2 if has_device else -1 :])
    if clock is None:
        clock = time.perf_counter_ns if has_device else time.thread_time_ns
    running: list[_Running] = []
    try:
        for name, twin in twins.items():
            if twin.config is not None:
                os.close(begin_trace(directory / name, twin.config, command=None, is_forced=False))
        for _ in twins:
            running.append(_Running(twins, program, directory, clock))
        lengths = _swap_roles(list(twins), running, seconds, swaps, settling, cycle)
    finally:
        for each in running:
            each.dismiss()
        for each in running:  # only now: a twin has inherited the pipes of those before it
            each.wait()
    for name, twin in twins.items():
        if twin.config is not None:
            name_main_process(directory / name, running[0].pid)
            end_trace(directory / name, exit_status=0)
    return {name: np.array(found, dtype=np.int64) for name, found in lengths.items()}


def _swap_roles(
    roles: Sequence[str], running: Sequence[_Running], seconds: float, swaps: int, settling: int, cycle: int
) -> dict[str, list[int]]:
    """Return all that is measured: in each of so many rounds every process takes every role once."""
    lengths: dict[str, list[int]] = {role: [] for role in roles}
    bursts = 0
    for swap in range(swaps * len(roles)):
        player = {role: running[(place + swap) % len(running)] for place, role in enumerate(roles)}
        for role, each in player.items():
            each.take(role)
        started = time.monotonic()
        for _ in range(max(1, settling)):
            for each in player.values():
                each.burst(SETTLING)
        if not bursts:  # as many each time: else what makes a process faster would not cancel
            burst_s = (time.monotonic() - started) / max(1, settling)
            bursts = max(1, round(seconds / swaps / len(roles) / burst_s / cycle)) * cycle
        for _ in range(bursts):
            for role in random.sample(list(roles), len(roles)):
                lengths[role].append(player[role].burst(MEASURED))
    return lengths


class _Running:
    """A process as the one that controls it sees it."""

    def __init__(self, twins: Mapping[str, Twin], program: Program, directory: Path, clock: Clock) -> None:
        go, self._go = os.pipe()
        self._done, done = os.pipe()
        self._role = ""
        self._turns = {name: number for number, name in enumerate([SETTLING, MEASURED, *twins])}
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._go)
            os.close(self._done)
            _live(program, _Turns(go, done, clock, _Role(twins, directory)))
        os.close(go)
        os.close(done)
        self._length()  # before the next one starts: two at once would be in each other's way

    def take(self, role: str) -> None:
        """Record the process as this twin from now on."""
        self._role = role
        self._say(role)

    def burst(self, phase: str) -> int:
        """Give it its turn, and return how long that took in ns."""
        self._say(phase)
        return self._length()

    def dismiss(self) -> None:
        """End the process."""
        os.close(self._go)

    def wait(self) -> None:
        """Wait until the process has ended."""
        os.waitpid(self.pid, 0)
        os.close(self._done)

    def _say(self, turn: str) -> None:
        try:
            os.write(self._go, bytes([self._turns[turn]]))
        except BrokenPipeError:
            raise self._ended() from None

    def _length(self) -> int:
        said = os.read(self._done, 8)
        if len(said) != 8:
            raise self._ended()
        return int(struct.unpack("q", said)[0])

    def _ended(self) -> RecordingError:
        return RecordingError(f"a program was expected to run on, but its twin {self._role or 'that began'} ended")


class _Role:
    """This says how this process is recorded at the moment."""

    def __init__(self, twins: Mapping[str, Twin], directory: Path) -> None:
        self._twins = list(twins.items())
        self._directory = directory

    def take(self, number: int) -> None:
        """End one recording and begin another."""
        self.leave()
        name, twin = self._twins[number]
        if twin.config is not None:
            recorder.activate(self._directory / name, twin.config, LIBRARIES)
            _native.amplify(twin.amplification)
            _native.write_properties(json.dumps({"amplification": twin.amplification}))
            twin.prepare()

    def leave(self) -> None:
        """End the recording, if there is one."""
        _native.amplify(1)
        recorder.deactivate()


class _Over(BaseException):
    """There are no more turns."""


class _Turns:
    """A process's own view: waits for its turns and times them."""

    def __init__(self, go: int, done: int, clock: Clock, role: _Role) -> None:
        self._go = go
        self._done = done
        self._clock = clock
        self._role = role
        self._started = clock()
        self._phases = [_native.phase(SETTLING), _native.phase(MEASURED)]
        self._phase: _native.Scope | None = None

    def tick(self) -> None:
        """End a burst, and begin the next one when it is this process's turn again.

        Raises:
            _Over: there is no next one.
        """
        length = self._clock() - self._started
        self.leave()
        os.write(self._done, struct.pack("q", length))
        while (turn := self._turn()) >= len(self._phases):
            self._role.take(turn - len(self._phases))
        self._phase = self._phases[turn]
        self._phase.__enter__()
        self._started = self._clock()

    def leave(self) -> None:
        """End the phase of the burst."""
        if self._phase is not None:
            self._phase.__exit__(None, None, None)
            self._phase = None

    def _turn(self) -> int:
        said = os.read(self._go, 1)
        if not said:
            self._role.leave()
            raise _Over
        return said[0]


def _live(program: Program, turns: _Turns) -> None:
    """Run the forked process from its beginning to its end."""
    status = 1
    try:
        program(turns.tick)
    except _Over:
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)
