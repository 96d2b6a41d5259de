"""Let the optimizer update all parameters in one call.

**Why it is slow.** Where no option says otherwise, optimizers on a CPU make ten calls for each parameter: of a
small network that takes longer than its `backward`.

**Slow**

    torch.optim.Adam(network.parameters())

**Faster**

    torch.optim.Adam(network.parameters(), fused=True)

**How it is found.** Stacks pass functions such as `_single_tensor_adam` in an eighth of the training or more.

**When it is wrong.** Some optimizers have no `fused`: then `foreach=True`. The last bits of the result differ.

**Reported:** deepmodeling/deepmd-kit #4463, pytorch/pytorch #38655.
"""

from collections.abc import Iterator

from rlscope.analysis.lines.own_lines import bare_name
from rlscope.rules.evidence import Evidence, where
from rlscope.rules.finding import Found

TRIAL = "fused"

_CLASSES = ("Adam", "AdamW", "SGD", "RMSprop", "Adagrad", "NAdam", "RAdam")


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for optimizers that update one parameter after the other."""
    passing = evidence.stacks.passing(
        lambda name: name.startswith("torch/optim/") and bare_name(name).startswith("_single_tensor")
    )
    if passing is not None:
        optimizer = passing.function.rpartition("_")[2]
        place = evidence.made(_CLASSES, passing.place)
        change = (
            f"give the optimizer fused=True (foreach=True where it has none): {optimizer} updates one parameter after "
            f"the other for {evidence.share(passing.seconds)} of the training{where(place)}"
        )
        yield Found(change, "functions: stage=backpropagation", passing.seconds, place)
