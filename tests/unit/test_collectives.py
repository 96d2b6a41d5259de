"""Calls of communicators whose backend returns nothing to wait for, as NCCL's does where a call is not asynchronous."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

from rlscope.libraries.torch_distributed import COLLECTIVES, _following_collective


@pytest.fixture
def group(tmp_path: Path) -> Iterator[dist.ProcessGroup]:
    """A process group of one rank."""
    dist.init_process_group("gloo", store=dist.FileStore(str(tmp_path / "store"), 1), rank=0, world_size=1)
    yield dist.group.WORLD
    dist.destroy_process_group()


def at_once(group: Any, *args: Any) -> None:
    """Reduce as NCCL does in C++: what is returned is None."""
    group.allreduce(*args).wait()


def test_a_call_that_returns_nothing_to_wait_for_is_made_as_without_recording(group: dist.ProcessGroup) -> None:
    follow: Callable[[Any], Any] = _following_collective(*COLLECTIVES["allreduce"])
    values = torch.ones(3)
    assert follow(at_once)(group, [values], dist.AllreduceOptions()) is None
    assert values.tolist() == [1.0, 1.0, 1.0]
