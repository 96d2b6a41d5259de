"""Notes which windows the callbacks read, and lets them look each time that they are called."""

from typing import Any

from rlscope.callbacks import live_shares

#: Where each began and ended, in ticks.
windows: list[tuple[int, int]] = []


def note_windows() -> None:
    """Note the windows of all callbacks from now on."""
    sweep = live_shares.sweep

    def noting(path: str, *, since_ticks: int, limit_ticks: int, **options: Any) -> Any:
        windows.append((since_ticks, limit_ticks))
        return sweep(path, since_ticks=since_ticks, limit_ticks=limit_ticks, **options)

    live_shares.sweep = noting  # type: ignore[assignment]
    live_shares.PAUSE = 0
