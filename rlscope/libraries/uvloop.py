"""uvloop: its event loop waits in C for whatever comes first, between calls of the program."""

from rlscope.model import Category
from rlscope.record.blocking import EVENTS
from rlscope.record.declared.kinds import Boundary

BOUNDARIES = (
    # It calls Python for all that happens: time in it is Python's, and waiting for as long as the thread is blocked.
    Boundary(
        library="uvloop.loop", category=Category.PYTHON, functions=("uvloop.loop.Loop.run_forever",), waits_for=EVENTS
    ),
)
