"""The verb `record` runs a command recorded, and ends as the command ended.

The command starts before this process has loaded what reads traces, which it does while the command runs.
"""

import contextlib
import errno
import math
import os
import resource
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rlscope.calibration.calibration import to_record_with
from rlscope.cli.given.operations import named_operations
from rlscope.cli.given.options import NamedPath, complete_files
from rlscope.cli.given.windows import check_windows, keeper_of, parse_on_slow
from rlscope.errors import UsageError, reason_of
from rlscope.monitor.counter_process import counted, list_counters
from rlscope.record.config import LAYERS, LINES_HZ, STACKS_HZ, TRACE_VARIABLE, RecordConfig
from rlscope.record.run.trace_directory import (
    NO_CORES,
    begin_trace,
    end_trace,
    environment_of_children,
    name_main_process,
    other_cuda_profiler,
)
from rlscope.record.run.trace_files import running_processes
from rlscope.signals import FORWARDED, hold_signals, wait_forwarding
from rlscope.text import printable
from rlscope.trace.manifest import note_unrecorded

if TYPE_CHECKING:
    from rlscope.monitor.clock_server import ClockServer
    from rlscope.monitor.utilization_sampler import UtilizationSampler
    from rlscope.monitor.windows.window_keeper import WindowKeeper

    Keeper = WindowKeeper | None

PATIENCE_S = 1.0


@click.command(
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
    epilog="Example: rlscope record -o trace -- python train.py --seed 1",
)
@click.option(
    "-o",
    "--output",
    type=NamedPath(),
    default=Path("trace"),
    show_default=True,
    help="Directory of the trace.",
)
@click.option("--force", is_flag=True, help="Replace a trace that is there already.")
@click.option(
    "--layers",
    default=",".join(LAYERS),
    show_default=True,
    help="Layers to record besides Python and operations, separated by commas.",
)
@click.option(
    "--operation",
    "operations",
    metavar="STAGE[/OPERATION]=MODULE:FUNCTION",
    multiple=True,
    help="Name a function or method that is a stage, or an operation inside one; may be given several times. STAGE may "
    "be evaluation, of a function that tests the policy. For "
    "example simulation=envs.my:Env.step, inference/generate=transformers:GenerationMixin.generate, or "
    "simulation/reward=__main__:Judge.score for a class of the script. MODULE:TIMER(NAME) names what runs "
    'inside the blocks of a timer that the program has, as `with timer("generation"):`. '
    "Adds to [tool.rlscope.operations] of pyproject.toml and [operations] of rlscope.toml.",
)
@click.option(
    "--no-auto", is_flag=True, help="Record only operations that the program opens itself, and those named here."
)
@click.option(
    "--delay-iterations",
    type=click.IntRange(min=0),
    default=0,
    help="Iterations of the training loop before recording starts.",
)
@click.option(
    "--max-iterations", type=click.IntRange(min=1), help="Iterations to record; the program goes on after them."
)
@click.option(
    "--max-seconds",
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds to record; the program goes on after them.",
)
@click.option(
    "--clock-port",
    type=click.IntRange(min=0, max=65535),
    help="UDP port at which processes on other machines ask for the time, 0 for any free one; without it none is open.",
)
@click.option(
    "--counters",
    metavar="NAMES",
    help="Sample these hardware counters of all GPUs, separated by commas; `list` shows which there are. For a run of "
    "its own: its times are not for comparison.",
)
@click.option(
    "--lines/--no-lines",
    default=None,
    help="Look at Python's stacks a thousand times a second instead of 125 times, for `analyze --by line`; or never.",
)
@click.option(
    "--idle",
    is_flag=True,
    help="Record nothing but windows that `rlscope window`, or `start` and `stop`, ask for while the command runs.",
)
@click.option(
    "--keep",
    metavar="TIME|SIZE",
    help="Keep the last minutes, such as 5m, or bytes, such as 1GB, of a run of any length, as a flight recorder does.",
)
@click.option(
    "--on-slow",
    metavar="FACTOR",
    help="With --keep: the windows of an iteration that takes so many times the median of those before, as 3x, stay.",
)
@click.option(
    "--every",
    metavar="N",
    type=click.IntRange(min=2),
    help="Record one iteration of every N, each in a window of its own; `analyze` then estimates the whole run.",
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, shell_complete=complete_files)
def record(
    output: Path,
    force: bool,
    layers: str,
    operations: tuple[str, ...],
    no_auto: bool,
    delay_iterations: int,
    max_iterations: int | None,
    max_seconds: float | None,
    clock_port: int | None,
    counters: str | None,
    lines: bool | None,
    idle: bool,
    keep: str | None,
    on_slow: str | None,
    every: int | None,
    command: tuple[str, ...],
) -> None:
    """Run COMMAND recorded. Its output, signals and exit status stay its own."""
    if counters == "list":
        list_counters()
        return
    if not command:
        raise UsageError("a command to record was expected, but none was given: rlscope record -o trace -- COMMAND")
    if TRACE_VARIABLE in os.environ:
        raise UsageError(
            f"this runs inside `rlscope record` already, into {os.environ[TRACE_VARIABLE]}; record once, outside"
        )
    if max_seconds is not None and not math.isfinite(max_seconds):
        raise UsageError(f"a number of seconds was expected after --max-seconds, but {max_seconds} was given")
    _check_can_be_run(command[0])
    directory = Path(os.path.realpath(output))
    named = named_operations(operations)
    clock = None
    if clock_port is not None:
        from rlscope.monitor.clock_server import ClockServer  # with sockets, which no other recording needs

        clock = ClockServer(clock_port)
    config = RecordConfig(
        layers=_parse_layers(layers),
        auto=not no_auto,
        delay_iterations=delay_iterations,
        max_iterations=max_iterations,
        max_seconds=max_seconds,
        clock=clock.source if clock is not None else None,
        counters=_parse_counters(counters, layers),
        operations=named,
        stacks_hz=STACKS_HZ if lines is None else LINES_HZ if lines else 0,
        idle=idle or keep is not None or every is not None,
        keep=keep,
        on_slow=parse_on_slow(on_slow),
        every=every,
    )
    check_windows(config)
    if force and output.is_symlink():
        raise UsageError(f"{output} is a link, and --force follows none; give the directory that it leads to")
    begin_trace(directory, config, list(command), force, to_record_with())  # locked as long as this process lives
    other = other_cuda_profiler(config, dict(os.environ))
    if other is not None:
        _say(f"work of GPUs is not recorded: {other} to record the GPU. Everything else is recorded")
    _record(directory, output, config, command, clock)


def _record(
    directory: Path, output: Path, config: RecordConfig, command: tuple[str, ...], clock: "ClockServer | None"
) -> None:
    """Run the command, complete the trace, and end as the command ended. `output` is the directory as it is shown."""
    keeper = keeper_of(directory, config, list(command), _say)
    with contextlib.ExitStack() as counting, contextlib.ExitStack() as watching:
        found = counting.enter_context(counted(directory, config.counters))
        status, user, sampler = _run_recorded(directory, config, command, clock, keeper, watching)
        # The command has ended: from here on nothing may keep its status from the caller.
        with _saying("counters were not all read"):
            counting.close()
        _await_services(directory)
        with _saying("when processes were killed is not noted"):
            watching.close()
    with _saying(f"the trace in {output} cannot be completed"):
        _complete(directory, config, status, found.facts, keeper, sampler)
    if found.facts["error"] is not None:
        _say(f"counters were not all read: {found.facts['error']}")
    if sampler is not None and sampler.error is not None:
        _say(f"utilisation was not sampled to the end: {sampler.error}")
    with _saying("what was recorded cannot be counted"), _interruptible():
        _summarize(directory, output, config, user)
    _end_as(status)


def _complete(
    directory: Path,
    config: RecordConfig,
    status: int,
    counter_facts: dict[str, Any],
    keeper: "Keeper",
    sampler: "UtilizationSampler | None",
) -> None:
    """Complete the trace, and its windows that are not complete."""
    if keeper is not None:
        keeper.end_all(status, PATIENCE_S)
    cores = sampler.cores if sampler is not None else NO_CORES
    end_trace(directory, status, counter_facts if config.counters else None, cores)


def _check_can_be_run(program: str) -> None:
    """Refuse a command with a typing error before a directory is made, or a trace in it replaced.

    Raises:
        UsageError: there is no such program.
    """
    if shutil.which(program) is None:
        is_there = os.path.dirname(program) and os.path.exists(program)
        raise UsageError(_cannot_run(program, os.strerror(errno.EACCES if is_there else errno.ENOENT)))


def _cannot_run(program: str, why: str) -> str:
    return f"cannot run {program!r}: {why}; give a command that the shell would find"


def _parse_layers(text: str) -> tuple[str, ...]:
    layers = tuple(layer.strip() for layer in text.split(",") if layer.strip())
    unknown = [layer for layer in layers if layer not in LAYERS]
    if unknown:
        raise UsageError(f"layers are {', '.join(LAYERS)}; --layers was given {', '.join(unknown)}")
    return layers


def _parse_counters(text: str | None, layers: str) -> tuple[str, ...]:
    if text is None:
        return ()
    if "cuda" not in _parse_layers(layers):
        raise UsageError("counters belong to the work that runs, so --counters needs cuda among the --layers")
    from rlscope.trace.counter_metrics import parse_counters  # which few recordings need

    return tuple(metric.name for metric in parse_counters(text))


def _run_recorded(
    directory: Path,
    config: RecordConfig,
    command: tuple[str, ...],
    clock: "ClockServer | None",
    keeper: "Keeper",
    watching: contextlib.ExitStack,
) -> "tuple[int, int, UtilizationSampler | None]":
    """Run the command, and look after windows meanwhile. Leave the signals blocked that are forwarded to it.

    Args:
        directory: Of the trace.
        config: How it is recorded.
        command: Its words.
        clock: Answers who asks for the time, None for nobody.
        keeper: Looks after windows, None where there are none.
        watching: Gets what watches when processes end, which those may do behind the command.

    Returns:
        Its exit status, negative for the signal that ended it; the user that it ended as; and what sampled
        utilisation, if anything did.
    """
    pid, error_reader = _start(command, environment_of_children(directory, config, dict(os.environ)))
    with _saying("the trace does not name its main process"):
        name_main_process(directory, pid)
    failure = os.read(error_reader, 1000).decode()  # empty once exec has closed the other end
    os.close(error_reader)
    sampler = None
    # Threads begin after the fork, and where the signals that we forward are blocked.
    with contextlib.ExitStack() as threads:
        with _saying("utilisation is not sampled"):
            from rlscope.monitor.utilization_sampler import sampled

            windows = None if keeper is None else keeper.windows
            sampler = threads.enter_context(sampled(directory, pid, "cuda" in config.layers, windows))
        if keeper is not None:
            threads.enter_context(keeper.beside(pid))
        with _saying("when processes are killed is not noted"):
            from rlscope.monitor.death_watch import watched

            watching.enter_context(watched(directory, config.idle))
        with _saying("whether the run is stuck is not watched"):
            from rlscope.monitor.hang_watch import hang_watched

            threads.enter_context(hang_watched(directory, _say))
        with _saying("questions about the time are not answered"):
            threads.enter_context(clock or contextlib.nullcontext())
        if not config.idle:
            _load_what_counts()
        ended = wait_forwarding(pid, lambda number: _hand_on(pid, number))
        with _saying("sampling did not end in order"):
            threads.close()
    if keeper is not None and keeper.error is not None:
        _say(f"windows were not looked after to the end: {keeper.error}")
    if failure:
        raise UsageError(_cannot_run(command[0], failure))
    with _saying("the trace does not say why nothing was recorded"):
        from rlscope.record.unrecordable import why_unrecordable

        if reason := why_unrecordable(command):
            note_unrecorded(directory, reason, pid)
    return ended.status, ended.user, sampler


def _start(command: tuple[str, ...], environment: dict[str, str]) -> tuple[int, int]:
    """Start the command, and block the signals here. Return its number, and where it says why it cannot run.

    Raises:
        UsageError: there can be no further process.
    """
    previous_mask = hold_signals()
    try:
        error_reader, error_writer = os.pipe()
        pid = os.fork()
    except OSError as error:
        raise UsageError(
            f"cannot start {command[0]!r}: {error.strerror}; end other processes, or raise what `ulimit -a` limits"
        ) from error
    if pid == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous_mask)
        try:
            os.execvpe(command[0], command, environment)
        except OSError as error:
            os.write(error_writer, (error.strerror or "unknown error").encode())
        finally:
            os._exit(127)
    os.close(error_writer)
    return pid, error_reader


def _hand_on(pid: int, number: int) -> None:
    with contextlib.suppress(OSError):  # as a user one may not send a signal to `sudo`
        os.kill(pid, number)


def _summarize(directory: Path, shown: Path, config: RecordConfig, user: int) -> None:
    from rlscope.cli.summary import summary_of

    _say(*summary_of(directory, shown, config, user))


def _load_what_counts() -> None:
    """Load what says how much was recorded, for which nobody has to wait while the command runs."""
    with _saying("what was recorded cannot be counted"):
        import rlscope.analysis.sweep
        import rlscope.cli.summary  # noqa: F401 -- loaded for later


def _say(*lines: str) -> None:
    """Print lines on stderr; where nobody can read them, that must not keep the command's status from the caller."""
    with contextlib.suppress(OSError, ValueError):
        for line in lines:
            click.echo(f"rlscope: {printable(line)}", err=True)


@contextlib.contextmanager
def _saying(what: str) -> Iterator[None]:
    """Go on after an error in the block: say in one line that `what` happened, and why."""
    try:
        yield
    except Exception as error:
        _say(f"{what}: {reason_of(error)}")


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Let the signals that were forwarded end the block, once, but not this process."""
    try:
        for number in FORWARDED:
            signal.signal(number, _interrupt)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
        yield
        signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
    except KeyboardInterrupt:
        _say("interrupted: what was recorded is not counted")


def _interrupt(number: int, frame: object) -> None:
    for each in FORWARDED:
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt


def _await_services(directory: Path) -> None:
    """Give processes that end with the command, such as multiprocessing's forkserver, a moment to do so."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and running_processes(directory):
        time.sleep(0.02)


def _end_as(status: int) -> None:
    """End this process as the command ended, by its signal too."""
    if status < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the command has left its own core, if any
        if -status != signal.SIGKILL:  # which cannot be caught, so needs no default
            signal.signal(-status, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {-status})
        os.kill(os.getpid(), -status)
    os._exit(status)
