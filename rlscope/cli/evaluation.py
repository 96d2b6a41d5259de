"""How long evaluation was, where `analyze` and `report` leave it out."""

from rlscope.analysis.breakdown import Analysis
from rlscope.cli.tables import seconds_text


def evaluation_lines(analysis: Analysis) -> list[str]:
    """One for each process that evaluated beside its training."""
    several = len(analysis.processes) > 1
    return [
        f"evaluation{f' in {process}' if several else ''}: {seconds_text(seconds)} s, left out of advice, figures, "
        "transitions and the time for all timesteps"
        for process, seconds in analysis.evaluation_s.items()
    ]
