"""This file makes a tree of the functions in which Python's time was spent, for flame graphs."""

from typing import Any

from rlscope.analysis.lines.tables import short_path
from rlscope.analysis.sweep import ProcessSweep
from rlscope.analysis.tables.calls import detail_of


def frames_of(process: ProcessSweep, least_share: float) -> list[dict[str, Any]]:
    """Return the functions of a process's stacks as a tree, by stage.

    `update` took 3 s, of which 2 s are of `loss`, which it called: its own `seconds` are 1, and `loss` has the place of
    `update` as its `caller`. Functions with less than `least_share` of the process's time in Python, with what they
    called, are left out; what they had is their caller's.

    Returns:
        A row per function: `stage`; `caller`, the place of its caller in the list, None of an outermost function;
        `function` and `file`; `seconds`, its own. Callers stand before what they called.
    """
    frames = detail_of(process).frames
    own = [frame.ticks for frame in frames]
    whole = list(own)
    for place in reversed(range(len(frames))):
        caller = frames[place].caller
        if caller is not None:
            whole[caller] += whole[place]
    least = least_share * sum(own)
    new_places: dict[int | None, int | None] = {None: None}
    for place, frame in enumerate(frames):
        if whole[place] >= least:
            new_places[place] = len(new_places) - 1
        elif frame.caller is not None and frame.caller in new_places:
            own[frame.caller] += whole[place]
    return [
        {
            "stage": frames[place].stage,
            "caller": new_places[frames[place].caller],
            "function": frames[place].function,
            "file": short_path(frames[place].file),
            "seconds": own[place] * process.seconds_per_tick,
        }
        for place in new_places
        if place is not None
    ]
