"""Prints a digest of each array in the files that a training saved: FOLDER PATTERN…. Runs where the training ran.

A file is a state that PyTorch saved, arrays that NumPy saved, the scalars of TensorBoard (all but speeds), or what
cProfile, VizTracer, coverage or memray has left, which looked at the training.
"""

import hashlib
import json
import pstats
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np


def arrays(path: Path) -> Iterator[tuple[str, Any]]:
    """The numbers in a file, by name."""
    if "tfevents" in path.name:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        events = EventAccumulator(str(path)).Reload()
        for tag in events.Tags()["scalars"]:
            if "SPS" not in tag:
                yield tag, np.array([(event.step, event.value) for event in events.Scalars(tag)])
    elif path.suffix == ".npz":
        yield from sorted(np.load(path).items())
    elif path.suffix in TOOLS:
        for name, number in sorted(TOOLS[path.suffix](path)):
            yield name, np.array(number)
    else:
        import torch

        yield from named("", torch.load(path, weights_only=True))


def is_of_training(file: str) -> bool:
    """Whether it is a file that the training was started in, or a path from there."""
    place = folder / file
    return place.is_relative_to(folder) and place.is_file()


def profiled(path: Path) -> Iterator[tuple[str, Any]]:
    """How often cProfile saw each function of the training, and how often without recursion."""
    for (file, line, name), (primitive, calls, *_) in vars(pstats.Stats(str(path)))["stats"].items():
        if is_of_training(file):
            yield f"{name} in line {line}", (primitive, calls)


def traced(path: Path) -> Iterator[tuple[str, Any]]:
    """Whether VizTracer saw functions of the training; of how many calls depends on how many others it has room for."""
    yield "has functions", any(str(folder) in event["name"] for event in json.loads(path.read_text())["traceEvents"])


def covered(path: Path) -> Iterator[tuple[str, Any]]:
    """Which lines of the training ran, as coverage has them."""
    from coverage import CoverageData

    data = CoverageData(str(path))
    data.read()
    for file in filter(is_of_training, data.measured_files()):
        yield Path(file).name, sorted(data.lines(file) or ())


def allocated(path: Path) -> Iterator[tuple[str, Any]]:
    """Whether memray saw memory that was allocated; how much there is differs from run to run."""
    from memray import FileReader

    yield "has allocations", FileReader(path).metadata.total_allocations > 0


TOOLS = {".prof": profiled, ".json": traced, ".coverage": covered, ".memray": allocated}


def named(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The tensors of nested dictionaries and lists; other values are not compared."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from named(f"{name}.{key}", inner)
    elif hasattr(value, "detach"):
        yield name, value.detach().cpu().numpy()


folder, patterns = Path(sys.argv[1]), sys.argv[2:]
for pattern in patterns:
    for number, path in enumerate(sorted(folder.glob(pattern))):  # names have the date in them
        for name, array in arrays(path):
            digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
            print(f"{pattern} {number} {name}", digest, sep="\t")
