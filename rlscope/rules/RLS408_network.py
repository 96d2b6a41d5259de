"""Ask others over the network for many answers at once, or beside the loop.

**Why it is slow.** A question over the network takes 0.1 to 100 ms, and the loop does nothing meanwhile.

**Slow**

    for prompt in prompts:
        rewards.append(requests.post(url, json=prompt).json()["reward"])

**Faster**

    with ThreadPoolExecutor(32) as pool:
        rewards = [*pool.map(ask, prompts)]

**How it is found.** Waits for the network, for no process of the run, have an eighth of the training or more.

**When it is wrong.** Where one answer is needed for the next question.
"""

from collections.abc import Iterator

from rlscope.record.blocking import NETWORK
from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for waits for the network."""
    yield from evidence.waits(NETWORK, "ask for many answers at once, or beside the loop")
