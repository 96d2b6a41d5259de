"""Calls that hand their work to a pool of threads and sleep meanwhile are the backend's work, not waiting."""

from collections.abc import Callable

import pytest
from recording import Recording


def share_of_backend(recording: Recording) -> float:
    of_backend, of_waiting = (recording.seconds(operation="products", category=name) for name in ("backend", "wait"))
    return of_backend / (of_backend + of_waiting)


@pytest.mark.parametrize("library", ["jax", "tensorflow"])
def test_a_product_is_the_backends(library: str, request: pytest.FixtureRequest) -> None:
    record: Callable[..., Recording] = request.getfixturevalue(
        "record_pytorch" if library == "jax" else "record_tensorflow"
    )
    assert share_of_backend(record("products.py", library, options=("--no-auto",))) > 0.9
