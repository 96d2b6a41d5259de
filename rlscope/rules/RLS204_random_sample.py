"""Draw a batch from arrays by random indices instead of `random.sample` from a list or a deque.

**Why it is slow.** It draws each element by a call of Python, and a deque has to be walked through to reach its
middle: a batch of 256 from 100,000 takes milliseconds. Then the elements have to be put together.

**Slow**

    batch = random.sample(replay, 256)             # a deque of tuples
    observations = np.stack([each.observation for each in batch])

**Faster**

    indices = rng.integers(size, size=256)
    observations = self.observations[indices]      # an array, written in turn

**How it is found.** Stacks pass `random.sample` or `random.choices` in an eighth of the training or more.

**When it is wrong.** A batch drawn so may have an element twice, which changes learning little.

**Reported:** ageron/handson-ml #204, coax-dev/coax #25, HorizonRobotics/SocialRobot #5.
"""

from collections.abc import Iterator

from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found

UNLESS = ("RLS212",)


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for samples that Python draws one by one."""
    yield from evidence.calls(
        ("random.py Random.sample", "random.py Random.choices"),
        "keep transitions in arrays, and draw a batch by random indices",
    )
