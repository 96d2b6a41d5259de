"""Prints the scalars below a folder as TensorBoard's own reader finds them: (step, time, value) by run and tag."""

import json
import sys
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

folder = Path(sys.argv[1])
found = {}
for name in sorted({path.parent for path in folder.rglob("events.out.tfevents.*")}):
    reader = EventAccumulator(str(name)).Reload()
    found[str(name.relative_to(folder))] = {
        tag: [(each.step, each.wall_time, each.value) for each in reader.Scalars(tag)]
        for tag in reader.Tags()["scalars"]
    }
print(json.dumps(found))
