"""How far training is: one call per iteration of the training loop."""

from collections.abc import Callable

#: Told of timesteps, total timesteps (0 if unknown) and whether this is where training begins. None: nothing records.
listener: Callable[[int, int, bool], None] | None = None


def report_progress(*, timesteps: int, total_timesteps: int | None = None) -> None:
    """Says that an iteration of the training loop is complete.

    Args:
        timesteps: Environment steps taken so far.
        total_timesteps: Environment steps of the whole training, if known: lets the report extrapolate.
    """
    if listener is not None:
        listener(timesteps, total_timesteps or 0, False)


def report_baseline(*, timesteps: int, total_timesteps: int | None = None) -> None:
    """Says that training begins at `timesteps`: nothing is complete yet."""
    if listener is not None:
        listener(timesteps, total_timesteps or 0, True)
