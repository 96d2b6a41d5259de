"""Begin to train before the longest samples are complete.

**Why it is slow.** A few answers are much longer than the others. While the last ones are made, most of a GPU's
batch is empty, or the GPU does nothing.

**Slow**

    samples = generate(prompts)                    # returns with the longest

**Faster**

    samples = generate(prompts, max_tokens=4096)   # or partial rollouts, which go on in the next iteration

**How it is found.** The time from when 90 % of an iteration's samples are complete to the last one sums to an eighth
of the training or more.

**When it is wrong.** Answers that are cut short teach to be short.

**Reported:** Tencent-Hunyuan/UniRL #94, verl-project/verl #4348.
"""

from collections.abc import Iterator

from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found
from rlscope.text.numbers import duration


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for iterations that wait for their longest samples."""
    tails = [row.tail_s for row in evidence.tables.sample_tails if row.process == evidence.process]
    if tails:
        change = (
            f"cut or keep the longest samples for later: the last tenth of them takes {duration(sum(tails))} in "
            f"{len(tails):,} iterations"
        )
        yield Found(change, f"sample_tails: process={evidence.process}", sum(tails))
