"""The verb `calibrate` measures what recording costs on this machine, and keeps it for later analyses."""

import signal
import tempfile
from pathlib import Path

import click

from rlscope.analysis.rows import Record
from rlscope.calibration.calibration import Calibration, cache_path, check_writable, save
from rlscope.cli.given.options import NamedPath, force_option
from rlscope.cli.given.signals import ended_by
from rlscope.cli.progress import progress_bar
from rlscope.errors import UsageError
from rlscope.outputs import Output
from rlscope.report.screen import Screen
from rlscope.report.tables import table_lines


@click.command(
    context_settings={"allow_interspersed_args": False},
    epilog="Example: rlscope calibrate; then rlscope analyze trace",
)
@click.option(
    "-o",
    "--output",
    type=NamedPath(dir_okay=False),
    help="Write the calibration into this file.  [default: your cache, where analyses look for it]",
)
@force_option
@click.option(
    "--whole-runs", is_flag=True, help="Measure as published in 2021: by runs of COMMAND, recorded differently."
)
@click.option("--repetitions", type=click.IntRange(min=1), default=3, show_default=True, help="Of each of its runs.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def calibrate(output: Path | None, force: bool, whole_runs: bool, repetitions: int, command: tuple[str, ...]) -> None:
    """Measure what recording adds to a program on this machine, in less than two minutes.

    Leave the machine alone meanwhile: what else runs makes the intervals wider.
    """
    if whole_runs != bool(command):
        found = f"{command[0]} without --whole-runs" if command else "none"
        raise UsageError(f"a command was expected after --whole-runs --, {found} was found")
    if whole_runs and output is None:
        raise UsageError(
            "with --whole-runs, -o FILE was expected: such a calibration is for comparison, not for your cache"
        )
    path = output if output is not None else cache_path()
    check_writable(path)
    file = Output(path, force or output is None)
    with ended_by(signal.SIGTERM, signal.SIGHUP):
        calibration, missing = _by_whole_runs(command, repetitions) if whole_runs else _by_loops()
    with file.writing() as unfinished:
        save(calibration, unfinished)
    click.echo("\n".join(table_lines("Costs of an event, in ns", _table(calibration), Screen.of_stdout())))
    if calibration.messages:
        title = "A step of an environment costs more in a process of its own, in ns"
        click.echo("\n".join(["", *table_lines(title, _messages(calibration), Screen.of_stdout())]))
    for loop, reason in missing.items():
        click.echo(f"not measured: {loop}, because {reason}")
    click.echo(f"wrote {path}")


def _by_loops() -> tuple[Calibration, dict[str, str]]:
    # These import numpy, for which `rlscope --help` need not wait.
    from rlscope.calibration.measure import calibrate as measure_costs
    from rlscope.calibration.workload import LOOPS

    with progress_bar("calibrating", len(LOOPS) + 1) as advance:
        return measure_costs(lambda loop: advance())


def _by_whole_runs(command: tuple[str, ...], repetitions: int) -> tuple[Calibration, dict[str, str]]:
    from rlscope.calibration.whole_runs import CONFIGURATIONS, calibrate_whole_runs

    with (
        tempfile.TemporaryDirectory(prefix="rlscope-calibrate-") as directory,
        progress_bar("calibrating", repetitions * len(CONFIGURATIONS)) as advance,
    ):
        return calibrate_whole_runs(command, repetitions, Path(directory), advance)


def _table(calibration: Calibration) -> list[Record]:
    rows: list[Record] = []
    for key, cost in calibration.costs.items():
        total = cost.total_ns
        rows.append({"event": key, "cost": total.mean, "low": total.low, "high": total.high,
                     "inside": cost.records_inside_ns.mean, "events": cost.events})  # fmt: skip
    return rows


def _messages(calibration: Calibration) -> list[Record]:
    return [
        {"processes": processes, "cost": cost.mean, "low": cost.low, "high": cost.high}
        for processes, cost in calibration.messages.items()
    ]
