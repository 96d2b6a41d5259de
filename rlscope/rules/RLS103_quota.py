"""Give the container more processor time, or start fewer threads in it.

**Why it is slow.** A quota stops all threads of a container until the next period once they have used what they
may. PyTorch sees all cores of the machine, starts a thread for each, and the quota is used up at the beginning.

**Slow**

    docker run --cpus 2 image python train.py      # on a machine with 64 cores

**Faster**

    docker run --cpus 2 --env OMP_NUM_THREADS=2 image python train.py

**How it is found.** The control groups of the run say for how long they were stopped: an eighth of the training or
more.

**When it is wrong.** Other programs in the same container may have used the quota.

**Reported:** onyx-dot-app/onyx #12351, ollama/ollama #17916, moby/moby #38839.
"""

from collections.abc import Iterator

from rlscope.analysis.account.causes import Cause
from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found
from rlscope.text.numbers import digits, duration


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for time in which a quota stopped the run."""
    cores = evidence.tables.cores
    if cores.throttled_s and cores.usable is not None:
        change = (
            f"give the container more processor time than {digits(cores.usable)} cores, or start fewer threads: its "
            f"quota stopped it for {duration(cores.throttled_s)}"
        )
        stopped_s = min(cores.throttled_s, evidence.seconds(Cause.NO_CORE))
        yield Found(change, "cores: throttled_s", stopped_s)
