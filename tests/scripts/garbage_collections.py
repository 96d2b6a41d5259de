"""Collects garbage among many objects: before any operation, in one, between two, and on a thread; says how often."""

import gc
import json
import threading

import rlscope

gc.disable()
heap = [{"observation": [place]} for place in range(100_000)]
gc.collect()
with rlscope.operation("simulation"):
    for _ in range(3):
        gc.collect()
    gc.collect(0)  # of nothing: too short to be recorded
gc.collect()


def act() -> None:
    with rlscope.operation("inference"):
        gc.collect()


thread = threading.Thread(target=act)
thread.start()
thread.join()
print(json.dumps({"callbacks": len(gc.callbacks), "objects": len(heap)}))
