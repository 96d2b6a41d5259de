"""Give PyTorch's operators one thread.

**Why it is slow.** An operation is divided among threads, one per core unless told otherwise, which wait for each other
at its end, busily at first. Where others use the cores as well, one of them has none. A call of 10 µs then takes
milliseconds.

**Slow**

    python train.py                                # beside another one, or beside its own workers

**Faster**

    OMP_NUM_THREADS=1 python train.py              # or torch.set_num_threads(1)

**How it is found.** The process neither ran nor was ready to run for an eighth of the training or more, while it was in
PyTorch on a CPU.

**When it is wrong.** Operations on large batches or images take long enough to be shared where cores are free.

**Reported:** DLR-RM/stable-baselines3 #90, pytorch/pytorch #19001.
"""

from collections.abc import Iterator

from rlscope.analysis.account.causes import Cause
from rlscope.model import Category
from rlscope.rules.evidence import LEAST_SHARE, Evidence, where
from rlscope.rules.finding import Found
from rlscope.text.numbers import duration

TRIAL = "threads"


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for waits for the threads of operators."""
    waited_s = evidence.seconds(Cause.OPERATOR_THREADS)
    backend_s = sum(row.seconds for row in evidence.training if row.category == Category.BACKEND.label)
    if waited_s >= LEAST_SHARE * evidence.training_s > 0:
        place = evidence.made(("set_num_threads",), evidence.at(Cause.OPERATOR_THREADS), is_seen=True)
        change = (
            f"give PyTorch one thread (OMP_NUM_THREADS=1, or torch.set_num_threads(1)): for {duration(waited_s)} of "
            f"its {duration(backend_s)} it waited for other threads of its operators, which had no core"
            f"{where(place)}"
        )
        # Waiting busily, and giving cores to each other, is the rest of it, so there is no bound.
        yield Found(change, "account: cause=operator_threads", backend_s, place)
