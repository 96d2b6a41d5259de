"""`rlscope calibrate`: measures what recording costs on this machine, and keeps it for later analyses."""

from pathlib import Path

import click
import pandas as pd
from rich.console import Console

from rlscope.calibration.calibration import Calibration, cache_path, save
from rlscope.calibration.measure import PROCESSES
from rlscope.calibration.measure import calibrate as measure_costs
from rlscope.calibration.workload import PARTS
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
    with progress_bar("calibrating", len(PARTS) * PROCESSES) as advance:
        calibration = measure_costs(lambda part: advance())
    save(calibration, path)
    console = Console()
    console.print(rich_table("Costs of an event, in ns", _table(calibration)))
    for missing in sorted(set(PARTS) - set(calibration.costs)):
        console.print(f"not measured: {missing}, which this machine or this Python cannot do", highlight=False)
    click.echo(f"wrote {path}")


def _table(calibration: Calibration) -> pd.DataFrame:
    rows = []
    for key, costs in calibration.costs.items():
        for cost in costs:
            total = cost.total_ns
            rows.append({"event": key, "after us": cost.from_gap_ns / 1000, "cost": total.mean, "low": total.low,
                         "high": total.high, "inside": cost.inside_ns.mean, "events": cost.events})  # fmt: skip
    return pd.DataFrame(rows)
