"""Logs ten numbers by tensorboardX; prints how many and for how long as JSON."""

import json
import sys
import time

from tensorboardX import SummaryWriter

import rlscope

writer = SummaryWriter(sys.argv[1])
with rlscope.phase("measured"):
    began = time.perf_counter()
    for step in range(10):
        writer.add_scalar("loss", 1 / (1 + step), step)
        writer.add_histogram("weights", [0.1, 0.2, 0.3], step)
    took = time.perf_counter() - began
writer.close()
print(json.dumps({"calls": 20, "seconds": took}))
