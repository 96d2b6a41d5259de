"""Make environments once, and reset them for each episode.

**Why it is slow.** To make one reads files, registers wrappers and starts simulators; `reset` is there to begin
anew.

**Slow**

    for episode in range(episodes):
        env = gymnasium.make("Walker2d-v5")
        observation, _ = env.reset()

**Faster**

    env = gymnasium.make("Walker2d-v5")
    for episode in range(episodes):
        observation, _ = env.reset()

**How it is found.** Stacks pass `gymnasium.make` or `gym.make` in an eighth of the training or more, or PyBullet loads
files that describe a world.

**When it is wrong.** Some environments have no `reset` that works; then keep several, and make them beside the
training.

**Reported:** openai/procgen #40, entity-neural-network/enn-trainer #3.
"""

from collections.abc import Iterator

from rlscope.analysis.account.causes import Cause
from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found

_LOADING = tuple(f"pybullet.load{kind}" for kind in ("URDF", "MJCF", "SDF", "SoftBody", "Bullet"))


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for environments that are made in the training."""
    yield from evidence.cause(Cause.MAKING, "make environments once, and reset them for each episode")
    yield from evidence.calls(_LOADING, "load the world once, and restore its state in reset()")
