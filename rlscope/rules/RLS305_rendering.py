"""Do not render while training.

**Why it is slow.** A picture takes longer than most steps, and `render_mode="human"` waits for the next one of a
display, 30 to 60 times a second.

**Slow**

    env = gymnasium.make("CartPole-v1", render_mode="human")

**Faster**

    env = gymnasium.make("CartPole-v1")

**How it is found.** Rendering has an eighth of the time or more, in `step` as well.

**When it is wrong.** Where the policy sees pictures, they have to be made: then make them small.

**Reported:** openai/gym #1283, airbus/scikit-decide #393.
"""

from collections.abc import Iterator

from rlscope.analysis.account.causes import Cause
from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found

TRIAL = "no-rendering"


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for rendering."""
    change = "do not render while training: make environments without render_mode"
    yield from evidence.cause(Cause.RENDER, change, made=("render_mode",))
