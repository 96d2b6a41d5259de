"""What `inspect`, `analyze` and `report` say of the clocks of a trace of several machines."""

import pandas as pd

from rlscope.analysis.machines import MEASURED


def machine_lines(machines: pd.DataFrame) -> list[str]:
    """One line per machine whose clock was measured; of others it is said what that means, where losses are listed.

    Args:
        machines: the table of an analysis.
    """
    lines = []
    for row in machines[machines["placed"] == MEASURED].to_dict("records"):
        side = "ahead of" if row["ahead_s"] >= 0 else "behind"
        rate = "faster" if row["drift_ppm"] > 0 else "slower"
        drift = f" and runs {abs(row['drift_ppm']):.3g} ppm {rate}" if row["drift_ppm"] else ""
        ahead = f"{abs(row['ahead_s']):.6f} s {side}"
        lines.append(
            f"machine {row['machine']}: its clock is {ahead} that of `rlscope record`{drift}, "
            f"and that is taken out of its times; what is left is at most {row['error_s']:.3g} s"
        )
    return lines
