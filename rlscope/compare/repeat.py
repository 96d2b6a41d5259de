"""This file runs commands repeatedly, in turns: a machine that gets slower meanwhile is slower for all of them."""

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rlscope.compare.timings import Timing, write_timings
from rlscope.errors import UsageError
from rlscope.record.run.trace_directory import machine


@dataclass(frozen=True)
class Command:
    """A command to repeat: what the user calls it, its words, and the folder that its runs go to."""

    shown: str
    words: tuple[str, ...]
    folder: Path


def in_turns(commands: Sequence[Command], runs: int, warm_up: int, is_recorded: bool, done: Callable[[], None]) -> None:
    """Run each command as often, in rounds: of A and B first A B, then B A, then A B again.

    Args:
        commands: At least one. Their folders are there, and empty.
        runs: How many rounds are kept.
        warm_up: How many rounds before them are not.
        is_recorded: Whether runs are recorded; else they are only timed.
        done: Is called after each run.

    Raises:
        UsageError: a run failed.
    """
    timings: dict[Path, list[Timing]] = {command.folder: [] for command in commands}
    for number in range(-warm_up, runs):
        for command in commands if number % 2 == 0 else commands[::-1]:
            name = f"run-{number + 1}" if number >= 0 else "warm-up"
            is_kept = is_recorded and number >= 0
            recorder = [*_rlscope(), "record", "-o", str(command.folder / name), "--"] if is_kept else []
            timing = _run(command, [*recorder, *command.words], name)
            if number >= 0 and not is_recorded:
                timings[command.folder].append(timing)
                write_timings(command.folder, command.words, _machine(), timings[command.folder])
            done()


def _run(command: Command, words: Sequence[str], name: str) -> Timing:
    """Run the words, with their output in a file beside the runs."""
    output = command.folder / f"{name}.txt"
    with output.open("wb") as file:
        start_ns, started_ns = time.time_ns(), time.perf_counter_ns()
        try:
            ended = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, check=False)
        except OSError as error:
            raise UsageError(
                f"cannot run {command.shown}: {error.strerror}; give a command that the shell would find"
            ) from error
        length_ns = time.perf_counter_ns() - started_ns
    if ended.returncode != 0:
        how = f"status {ended.returncode}" if ended.returncode > 0 else f"signal {-ended.returncode}"
        raise UsageError(
            f"a command that succeeds was expected, but {name} of {command.shown} ended with {how}; its output is in "
            f"{output}"
        )
    return Timing(start_ns, length_ns)


def _rlscope() -> list[str]:
    """Return the command of this environment; `-m` would find a folder of that name in the working directory first."""
    found = shutil.which("rlscope", path=str(Path(sys.executable).parent))
    return [found] if found is not None else [sys.executable, "-m", "rlscope"]


def _machine() -> str:
    """Return what times depend on, as `Facts` has it of a trace."""
    here = machine()
    return f"{here['cpu']}, {here['cores']} cores"
