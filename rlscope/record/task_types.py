"""Types of Python that drive coroutines and asynchronous generators and have no name."""

from __future__ import annotations

TYPE_CHECKING = False  # as `typing` has it, whose import takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


async def _coroutine() -> None: ...


async def _generator() -> AsyncGenerator[None, None]:
    yield


def unnamed_types() -> tuple[type, type, type]:
    """Return the types of what a coroutine's `__await__`, and an async generator's `asend` and `athrow`, give."""
    coroutine, generator = _coroutine(), _generator()
    iterator = coroutine.__await__()
    types = type(iterator), type(generator.asend(None)), type(generator.athrow(GeneratorExit))
    coroutine.close()
    return types
