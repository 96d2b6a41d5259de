"""Copy less between CPU and GPU.

**Why it is slow.** A copy from memory that is not pinned makes the CPU wait until it is over, and many small ones
take 10 µs each.

**Slow**

    batch = torch.as_tensor(observations).to("cuda")           # float64, in each update

**Faster**

    batch = observations.pin_memory().to("cuda", non_blocking=True)      # or keep the replay buffer on the GPU

**How it is found.** The training waits in copies between the memories for an eighth of its time or more.

**When it is wrong.** Data that does not fit on the GPU has to be copied once.

**Reported:** pytorch/pytorch #42539, DLR-RM/stable-baselines3 #1218.
"""

from collections.abc import Iterator

from rlscope.analysis.account.causes import Cause
from rlscope.analysis.rows import sums
from rlscope.model import STAGES, Category
from rlscope.rules.evidence import Evidence, place_of, where
from rlscope.rules.finding import Found
from rlscope.text.numbers import size

#: What copies between the memories of a CPU and of a GPU are called, at the end.
_BETWEEN_MEMORIES = ("HtoD", "DtoH")


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for copies that the process waits for: of those that is known that take as long as its CUDA calls there."""
    copies = [
        row
        for row in evidence.tables.device_work
        if row.process == evidence.process and row.name.endswith(_BETWEEN_MEMORIES)
    ]
    copied_bytes = sums((row.stage, row.bytes) for row in copies)
    for stage, seconds in sums((row.stage, row.seconds) for row in copies).items():
        waits = [
            row
            for row in evidence.training
            if row.stage == (stage if stage in STAGES else "")
            and (row.category == Category.CUDA.label or row.cause == Cause.GPU)
        ]
        waited_s = min(seconds, sum(row.seconds for row in waits))
        place = place_of(next((row for row in waits if row.line), None))
        change = (
            f"copy less between CPU and GPU: {size(copied_bytes[stage])} take {evidence.share(waited_s)} of the "
            "training; keep data on the GPU, copy smaller types, or from pinned memory with non_blocking=True"
            f"{where(place)}"
        )
        yield Found(change, f"device_work: stage={stage}, name=*HtoD|*DtoH", waited_s, place)
