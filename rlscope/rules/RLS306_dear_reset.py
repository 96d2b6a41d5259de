"""Make resets cheaper, or have fewer of them.

**Why it is slow.** Some environments load a level, a robot or a table in each `reset`; where episodes are short,
that is most of the simulation.

**Slow**

    def reset(self, seed=None, options=None):
        self.model = load_model(self.path)

**Faster**

    def __init__(self, path):
        self.model = load_model(path)              # reset() restores its state only

**How it is found.** Stacks pass functions of the name `reset` in simulation for an eighth of the training or more,
and for longer than functions of the name `step`. One `reset` that the loop asks for does not count: any training
begins with it.

**When it is wrong.** Where each episode has to be another world, prepare the next one beside the training.

**Reported:** google-deepmind/lab #152, facebookresearch/minihack #33.
"""

from collections.abc import Iterator

from rlscope.model import SIMULATION
from rlscope.rules.evidence import Evidence, where
from rlscope.rules.finding import Found
from rlscope.rules.stacks import bare_names

UNLESS = ("RLS307", "RLS309")
_RESET = "reset"


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for resets that take longer than steps."""
    resets = evidence.stacks.passing(bare_names("reset"), SIMULATION)
    if resets is None:
        return
    steps = evidence.stacks.passing(bare_names("step"), SIMULATION)
    seconds = resets.seconds - evidence.mean_s(SIMULATION, _RESET)
    # The `step` of a vector of environments resets those that are done: that time is in both.
    if steps is None or 2 * seconds > steps.seconds:
        change = (
            f"make {resets.function} cheaper, or episodes longer: it has {evidence.share(seconds)} of the "
            f"training{where(resets.place)}"
        )
        yield Found(change, "functions: stage=simulation", seconds, resets.place)
