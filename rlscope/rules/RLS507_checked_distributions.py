"""Do not let distributions of PyTorch check their arguments.

**Why it is slow.** Each `Categorical` or `Normal` looks whether all its parameters and values are valid: several
calls on the CPU, and a wait for a GPU.

**Slow**

    action = Categorical(logits=logits).sample()

**Faster**

    torch.distributions.Distribution.set_default_validate_args(False)      # once

**How it is found.** Stacks pass what checks, `torch/distributions/constraints.py` and the initializer of
`Distribution`, in an eighth of the training or more.

**When it is wrong.** While a NaN is looked for they are a help.

**Reported:** leggedrobotics/rsl_rl #69, ray-project/ray #50440.
"""

from collections.abc import Iterator

from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found

_CHECKS = (
    "torch/distributions/constraints.py ",
    "torch/distributions/distribution.py Distribution.__init__",
    "torch/distributions/distribution.py Distribution._validate_sample",
)


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for arguments that are checked."""
    yield from evidence.calls(_CHECKS, "call torch.distributions.Distribution.set_default_validate_args(False) once")
