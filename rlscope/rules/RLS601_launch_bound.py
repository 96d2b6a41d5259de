"""Let a GPU compute more at a time.

**Why it is slow.** A launch takes 3 to 10 µs of the CPU. Where kernels are shorter than that, the GPU waits for
each.

**Slow**

    loss = update(batch)                           # a hundred kernels of 2 µs

**Faster**

    update = torch.compile(update, mode="reduce-overhead")      # one CUDA graph

**How it is found.** The GPU waits for launches of kernels that are shorter than the time from one to the next, for
an eighth of the training or more.

**When it is wrong.** Small networks are often faster on the CPU, without any GPU.

**Reported:** pytorch/rl #4216, Unity-Technologies/ml-agents #1246.
"""

from collections.abc import Iterable, Iterator

from rlscope.analysis.account.causes import Cause
from rlscope.analysis.devices.rows import LaunchRow
from rlscope.model import STAGES
from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found
from rlscope.text.numbers import duration

TRIAL = "cpu"


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for devices that wait for launches."""
    launches = [row for row in evidence.tables.launches if row.process == evidence.process]
    for device in dict.fromkeys(row.device for row in launches):
        yield from _of_device(device, [row for row in launches if row.device == device], evidence)


def _of_device(device: int, launches: Iterable[LaunchRow], evidence: Evidence) -> Iterator[Found]:
    short = [row for row in launches if row.kernel_s < row.gap_s]
    waited_s, count = sum(row.graph_saves_s for row in short), sum(row.launches for row in short)
    if not count:
        return
    mean_s = sum(row.kernel_s * row.launches for row in short) / count
    stages = dict.fromkeys(Cause(row.stage).words for row in short if row.stage in STAGES)
    within = f" in {' and '.join(stages)}" if stages else ""
    change = (
        f"let GPU {device} compute more at a time{within}: for {evidence.share(waited_s)} of the training it waits "
        f"for launches, of {count:,} kernels of {duration(mean_s)}; larger batches, compiling, CUDA graphs, or the CPU "
        "where networks are small"
    )
    yield Found(change, f"launches: device={device}", waited_s, forecast="launches=graph")
