"""Evaluate less often, or fewer episodes.

**Why it is slow.** Each evaluation plays whole episodes, one step at a time, and trains nothing. Ten episodes of
500 steps after each 1,000 timesteps are five times as many steps as the training.

**Slow**

    EvalCallback(eval_env, eval_freq=500, n_eval_episodes=10)

**Faster**

    EvalCallback(eval_env, eval_freq=20_000, n_eval_episodes=5)

**How it is found.** Evaluation has an eighth of the time or more: callbacks and functions of libraries, and what is
marked with `rlscope.phase("evaluation")`.

**When it is wrong.** Where early stopping depends on it, it may be worth its time.

**Reported:** DLR-RM/stable-baselines3 #1597, hill-a/stable-baselines #376.
"""

from collections.abc import Iterator

from rlscope.analysis.account.causes import Cause
from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found

TRIAL = "no-evaluation"


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for evaluation."""
    yield from evidence.cause(Cause.EVALUATION, "evaluate less often, or fewer episodes", forecast="evaluation=1/10")
