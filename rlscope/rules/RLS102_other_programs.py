"""Run the training where other programs do not want the same cores.

**Why it is slow.** A core that another program has is not there for the training.

**Slow**

    python train.py --seed 1 & python train.py --seed 2 & python train.py --seed 3 &      # on 2 cores

**Faster**

    for seed in 1 2 3; do python train.py --seed $seed; done

**How it is found.** The run waited for cores for as long as an eighth of its training, or longer. It kept not nearly
all of them busy itself. Most threads that were ready to run were not its own.

**When it is wrong.** Where the machine is shared on purpose, the sum of all programs may be what counts.

**Reported:** moby/moby #38839 and each cluster with shared nodes.
"""

from collections.abc import Iterator

from rlscope.analysis.account.causes import Cause
from rlscope.rules.evidence import LEAST_SHARE, Evidence
from rlscope.rules.finding import Found
from rlscope.text.numbers import digits

IS_OF_MACHINE = True


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for cores that other programs had."""
    cores = evidence.tables.cores
    if cores.is_others_doing and cores.ready_threads is not None and cores.usable is not None:
        change = (
            f"run it where no other programs do: {digits(cores.ready_threads)} threads were ready for "
            f"{digits(cores.usable)} cores, most of them of other programs"
        )
        if evidence.seconds(Cause.NO_CORE) >= LEAST_SHARE * evidence.training_s:
            yield Found(change, "cores: ready_threads, busy", None)
