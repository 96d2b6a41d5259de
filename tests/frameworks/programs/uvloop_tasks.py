"""Two agents on uvloop compute and wait for answers in turns; prints how long they computed, and the loop ran."""

import asyncio
import json
import time

import uvloop

import rlscope

took = {"computed": 0.0, "ran": 0.0}


def compute(seconds: float) -> None:
    began = time.thread_time()
    while time.thread_time() - began < seconds:
        pass
    took["computed"] += seconds


async def agent() -> None:
    for _ in range(5):
        with rlscope.operation("inference"):
            compute(0.02)
            await asyncio.sleep(0.2)
            compute(0.02)


async def agents() -> None:
    await asyncio.gather(agent(), agent())


began = time.perf_counter()
uvloop.run(agents())
took["ran"] = time.perf_counter() - began
print(json.dumps(took))
