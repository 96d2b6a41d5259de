"""This file prints what would be run: commands that can be pasted into a shell, and the minutes that they take."""

import shlex
from collections.abc import Sequence

from experiments.harness.execute import command_of, variables_of
from experiments.harness.progress import Progress, StudyRun
from experiments.harness.slots import cores_text
from rlscope.text.numbers import duration


def print_runs(runs: Sequence[StudyRun], slots: Sequence[tuple[int, ...]], left_out: Sequence[str]) -> None:
    """Print the runs that are not complete.

    Args:
        runs: in the order in which they would be run.
        slots: the cores of each slot, which take runs in turn; without any, runs are not bound to cores.
        left_out: what cannot be run here, and why, and what more runs would tell.
    """
    for sentence in left_out:
        print(f"# {sentence}")
    progress = Progress(runs)
    progress.slots = max(1, len(slots))
    ahead = [run for run in runs if progress.recorded.is_open(run)]
    for number, run in enumerate(ahead):
        slot = slots[number % len(slots)] if slots else ()
        place = f", slot {number % len(slots)} (cores {cores_text(slot)})" if slots else ""
        print(f"# {run.name}{place}, {duration(60 * run.minutes)}")
        print(shell_command(run, slot))
    at_once = f"{len(slots)} at once" if len(slots) > 1 else "one after the other"
    print(f"# {len(ahead)} runs, {at_once}: about {duration(progress.seconds_left())}")


def shell_command(run: StudyRun, slot: Sequence[int]) -> str:
    """Return a line that does what recording the run does, but for its log, its manifest and its time limit."""
    variables = [f"{name}={value}" for name, value in variables_of(run.run).items()]
    pinned = ["taskset", "--cpu-list", cores_text(slot)] if slot else []
    command = shlex.join(["env", "-i", *variables, *pinned, *command_of(run.run)])
    directory = shlex.quote(str(run.directory))
    return f"(mkdir -p {directory} && cd {directory} && {command})"
