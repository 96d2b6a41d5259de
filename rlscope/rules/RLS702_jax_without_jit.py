"""Compile with `jax.jit` what is called in each step.

**Why it is slow.** Without it JAX starts a program for each operation, 20 to 100 µs however small the arrays are.

**Slow**

    for batch in batches:
        parameters = update(parameters, batch)

**Faster**

    update = jax.jit(update)                       # once, before the loop

**How it is found.** Stacks pass JAX's evaluation of single operations in an eighth of the training or more.

**When it is wrong.** What depends on values, not only on shapes, cannot be compiled as it is.

**Reported:** jax-ml/jax #20326 and #1832.
"""

from collections.abc import Iterator

from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for operations of JAX that are evaluated one by one."""
    yield from evidence.calls(
        ("jax/_src/dispatch.py apply_primitive",), "compile with jax.jit what is called in each step"
    )
