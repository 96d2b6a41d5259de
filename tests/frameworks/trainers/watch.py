"""Stopwatches on a library's methods, and a digest of what was learnt; it knows nothing of recording."""

import functools
import gc
import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch

_now = time.perf_counter_ns
_open: list[str] = []
_nanoseconds: Counter[str] = Counter()
_since = 0
COLLECTING = "garbage collection"


def _change() -> None:
    """Give the stage that was open what has passed."""
    global _since
    now = _now()
    if _open:
        _nanoseconds[_open[-1]] += now - _since
    _since = now


def watch(stage: str, owner: Any, *names: str) -> None:
    """Time these methods of a class: inside of one, another stage's time is the other's."""
    for name in names:
        setattr(owner, name, _timed(stage, getattr(owner, name)))


def _timed(stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def timed(*args: Any, **kwargs: Any) -> Any:
        _change()
        _open.append(stage)
        try:
            return function(*args, **kwargs)
        finally:
            _change()
            _open.pop()

    return timed


def _collect(when: str, information: dict[str, int]) -> None:
    """A collection begins wherever there is much to collect, so it is no stage's."""
    _change()
    if when == "start":
        _open.append(COLLECTING)
    else:
        _open.pop()


gc.callbacks.append(_collect)


def print_learnt(*networks: torch.nn.Module) -> None:
    """Print a digest of parameters and the seconds of each stage."""
    digest = hashlib.sha256()
    for network in networks:
        for _, value in sorted(network.state_dict().items()):
            digest.update(value.detach().cpu().numpy().tobytes())
    seconds = {stage: nanoseconds / 1e9 for stage, nanoseconds in _nanoseconds.items() if stage != COLLECTING}
    print(json.dumps({"learnt": digest.hexdigest(), "seconds": seconds}))
