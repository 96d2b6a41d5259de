"""`rlscope calibrate`: measures what recording costs on this machine, and keeps it for later analyses."""

from pathlib import Path

import click
import pandas as pd
from rich.console import Console

from rlscope.calibration.calibration import Calibration, cache_path, save
from rlscope.calibration.measure import calibrate as measure_costs
from rlscope.calibration.workload import LOOPS
from rlscope.cli.progress import progress_bar
from rlscope.cli.tables import rich_table


@click.command(epilog="Example: rlscope calibrate; then rlscope analyze trace")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the calibration into this file.  [default: your cache, where analyses look for it]",
)
def calibrate(output: Path | None) -> None:
    """Measure what recording adds to a program on this machine, in less than two minutes.

    Leave the machine alone meanwhile: what else runs makes the intervals wider.
    """
    path = output if output is not None else cache_path()
    with progress_bar("calibrating", len(LOOPS)) as advance:
        calibration, missing = measure_costs(lambda loop: advance())
    save(calibration, path)
    console = Console()
    console.print(rich_table("Costs of an event, in ns", _table(calibration)))
    for loop, reason in missing.items():
        console.print(f"not measured: {loop}, because {reason}", highlight=False)
    click.echo(f"wrote {path}")


def _table(calibration: Calibration) -> pd.DataFrame:
    rows = []
    for key, cost in calibration.costs.items():
        total = cost.total_ns
        rows.append({"event": key, "cost": total.mean, "low": total.low, "high": total.high,
                     "inside": cost.records_inside_ns.mean, "events": cost.events})  # fmt: skip
    return pd.DataFrame(rows)
