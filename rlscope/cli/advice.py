"""The paragraph in which `analyze` and `report` say what bounds a run."""

from rlscope.analysis.advice import advise
from rlscope.analysis.breakdown import Analysis


def advice_lines(analysis: Analysis) -> list[str]:
    """One line; none if no process took time."""
    advice = advise(analysis)
    return [advice.text] if advice is not None else []
