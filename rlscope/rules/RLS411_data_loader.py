"""Give a DataLoader more workers.

**Why it is slow.** With one worker, or none, the next batch is made while the training waits for it.

**Slow**

    DataLoader(data, batch_size=64, num_workers=1)

**Faster**

    DataLoader(data, batch_size=64, num_workers=4, persistent_workers=True)

**How it is found.** The training is in a DataLoader for an eighth of its time or more. The loader has one worker or
none, and the run leaves cores idle.

**When it is wrong.** Where reading the disk takes the time, more workers read no faster.

**Reported:** open-edge-platform/geti #5958, nerfstudio-project/gsplat #1058.
"""

from collections.abc import Iterator

from rlscope.rules.evidence import LEAST_IDLE, Evidence, where
from rlscope.rules.finding import Found
from rlscope.rules.stacks import MODULE
from rlscope.text.numbers import digits

TRIAL = "loader-workers"

_LOADER = "torch/utils/data/dataloader.py "
_WORKER = "DataLoader worker"


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for batches for which the training waits."""
    cores = evidence.tables.cores
    if cores.usable is None or evidence.idle_cores < LEAST_IDLE:
        return
    workers = [row.process for row in evidence.tables.processes if row.process.startswith(_WORKER)]
    loading = evidence.stacks.passing(lambda name: name.startswith(_LOADER) and not name.endswith(MODULE))
    if loading is not None and len(workers) <= 1:
        place = evidence.made(("DataLoader",), loading.place)
        change = (
            f"give the DataLoader more workers than {len(workers)}: batches have {evidence.share(loading.seconds)} of "
            f"the training, and {digits(cores.usable)} cores are there{where(place)}"
        )
        saved_s = loading.seconds * (1 - 1 / cores.usable)
        yield Found(change, "functions: stage, purpose=training", saved_s, place)
