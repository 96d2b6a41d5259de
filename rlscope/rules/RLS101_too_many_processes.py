"""Run fewer processes or threads than there are cores.

**Why it is slow.** Who is ready to run and has no core waits. PyTorch gives each process as many threads as there
are cores. Those of a pool wait for each other busily, so that two processes can take ten times as long as one.

**Slow**

    envs = SubprocVecEnv([make] * 16)              # on 4 cores

**Faster**

    OMP_NUM_THREADS=1 python train.py              # or torch.set_num_threads(1)
    envs = SubprocVecEnv([make] * 4)

**How it is found.** The run's own processes would use more cores at once than its affinity and its quota allow.
They waited for cores for an eighth of the training.

**When it is wrong.** Processes that wait for a simulator outside of the machine may well be more than the cores.

**Reported:** DLR-RM/stable-baselines3 #90, chainer/chainerrl #235, pytorch/torchtitan #4038.
"""

from collections.abc import Iterator

from rlscope.analysis.account.causes import Cause
from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found
from rlscope.text.numbers import digits

TRIAL = "threads"


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for processes without a core that others of the run have."""
    cores = evidence.tables.cores
    if cores.usable is not None and cores.wanted is not None and cores.is_own_doing:
        change = (
            f"run fewer processes or threads: {digits(cores.wanted)} processes want {digits(cores.usable)} cores at "
            "once; OMP_NUM_THREADS=1, or torch.set_num_threads(1), gives each of them one thread for its operators"
        )
        yield Found(change, "cores: wanted, usable", evidence.seconds(Cause.NO_CORE))
