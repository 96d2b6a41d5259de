"""Make fewer samples that are thrown away.

**Why it is slow.** Each sample takes as long, whether the training uses it or not. Groups whose rewards are all the
same, and those that are too old, are discarded after they were made.

**Slow**

    groups = [group for group in generate(prompts) if len(set(group.rewards)) > 1]

**Faster**

    prompts = curriculum.undecided(prompts)        # leave out what was always or never solved

**How it is found.** The share of tokens in discarded samples, of the time in inference, is an eighth of the training
or more.

**When it is wrong.** A filter may be worth what it throws away.

**Reported:** THUDM/slime #1800.
"""

from collections.abc import Iterator

from rlscope.analysis.account.causes import Cause
from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found
from rlscope.text.numbers import percent


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for tokens that no update saw."""
    rows = [row for row in evidence.tables.samples if row.process == evidence.process]
    tokens, discarded = sum(row.tokens for row in rows), sum(row.discarded_tokens for row in rows)
    if tokens and discarded:
        share = discarded / tokens
        change = f"make fewer samples that are thrown away: {percent(share)} of all tokens were"
        yield Found(
            change, f"samples: process={evidence.process}", share * evidence.seconds(Cause.INFERENCE, Cause.GPU)
        )
