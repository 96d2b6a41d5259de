"""Prints a digest of each array in the files that a training saved: FOLDER PATTERN. Runs where the training ran.

A file is a state that PyTorch saved, a model of Stable-Baselines3, or the scalars of TensorBoard (all but speeds).
"""

import hashlib
import io
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch


def arrays(path: Path) -> Iterator[tuple[str, Any]]:
    """The numbers in a file, by name."""
    if "tfevents" in path.name:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        events = EventAccumulator(str(path)).Reload()
        for tag in events.Tags()["scalars"]:
            if "SPS" not in tag:
                yield tag, np.array([(event.step, event.value) for event in events.Scalars(tag)])
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path) as model:
            for member in model.namelist():
                if member.endswith(".pth"):
                    yield from named(member, torch.load(io.BytesIO(model.read(member)), weights_only=True))
    else:
        yield from named("", torch.load(path, weights_only=True))


def named(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The tensors of nested dictionaries and lists; other values are not compared."""
    if isinstance(value, torch.Tensor):
        yield name, value.detach().cpu().numpy()
    elif isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from named(f"{name}.{key}", inner)


folder, pattern = Path(sys.argv[1]), sys.argv[2]
for number, path in enumerate(sorted(folder.glob(pattern))):  # names have the date in them
    for name, array in arrays(path):
        print(f"file {number} {name}", hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest(), sep="\t")
