"""This file runs commands repeatedly, in turns: a machine that gets slower meanwhile is slower for all of them."""

import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rlscope.bench.folder import remove_ended_run
from rlscope.bench.one_run import EndedError, run
from rlscope.compare.timings import Timing, write_timings
from rlscope.errors import UsageError
from rlscope.record.run.machine import machine


@dataclass(frozen=True)
class Command:
    """A command to repeat: what the user calls it, its words, and the folder that its runs go to."""

    shown: str
    words: tuple[str, ...]
    folder: Path


def in_turns(
    commands: Sequence[Command],
    runs: int,
    warm_up: int,
    is_recorded: bool,
    mask: set[signal.Signals],
    done: Callable[[], None],
) -> None:
    """Run each command as often, in rounds: of A and B first A B, then B A, then A B again.

    Args:
        commands: At least one. Their folders are there, and empty.
        runs: How many rounds are kept.
        warm_up: How many rounds before them are not.
        is_recorded: Whether runs are recorded; else they are only timed.
        mask: The signals that commands find blocked; this process holds those that end it.
        done: Is called after each run.

    Raises:
        UsageError: a run failed.
        EndedError: this process was asked to end. A run that had begun has ended, and left no trace.
    """
    timings: dict[Path, list[Timing]] = {command.folder: [] for command in commands}
    for number in range(-warm_up, runs):
        for command in commands if number % 2 == 0 else commands[::-1]:
            name = f"run-{number + 1}" if number >= 0 else "warm-up"
            timing = _run(command, name, is_recorded and number >= 0, mask)
            if number >= 0 and not is_recorded:
                timings[command.folder].append(timing)
                write_timings(command.folder, command.words, _machine(), timings[command.folder])
            done()


def _run(command: Command, name: str, is_recorded: bool, mask: set[signal.Signals]) -> Timing:
    """Run a command, with its output in a file beside the runs."""
    output, trace = command.folder / f"{name}.txt", command.folder / name
    recorder = [*rlscope_command(), "record", "-o", str(trace), "--"] if is_recorded else []
    start_ns, started_ns = time.time_ns(), time.perf_counter_ns()
    try:
        status = run([*recorder, *command.words], output, is_recorded, mask)
    except OSError as error:
        raise UsageError(
            f"cannot run {command.shown}: {error.strerror}; give a command that the shell would find"
        ) from error
    except EndedError as ended:
        if is_recorded:
            remove_ended_run(trace)
        raise EndedError(
            ended.number,
            f" in {name} of {command.shown}; the runs before it are in {command.folder}, for `rlscope compare`; add "
            "--force to begin anew",
        ) from None
    length_ns = time.perf_counter_ns() - started_ns
    if status != 0:
        how = f"status {status}" if status > 0 else f"signal {-status}"
        raise UsageError(
            f"a command that succeeds was expected, but {name} of {command.shown} ended with {how}; its output is in "
            f"{output}"
        )
    return Timing(start_ns, length_ns)


def rlscope_command() -> list[str]:
    """Return the command of this environment; `-m` would find a folder of that name in the working directory first."""
    found = shutil.which("rlscope", path=str(Path(sys.executable).parent))
    return [found] if found is not None else [sys.executable, "-m", "rlscope"]


def _machine() -> str:
    """Return what times depend on, as `Facts` has it of a trace."""
    here = machine()
    return f"{here['cpu']}, {here['cores']} cores"
