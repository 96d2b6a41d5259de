"""A training loop of one's own: `own_loop.py ITERATIONS [report]`. Two stages, and a sleep between them in each one.

Prints `done` when its last iteration is over, so that what was said before is known.
"""

import sys
import time

import rlscope

iterations = int(sys.argv[1])
for iteration in range(iterations):
    with rlscope.operation("simulation"):
        sum(range(100))
    if "sleep" in sys.argv:
        time.sleep(0.01)
    with rlscope.operation("backpropagation"):
        sum(range(1000))
    if "report" in sys.argv:
        rlscope.report_progress(timesteps=iteration + 1, total_timesteps=iterations)
print("done", file=sys.stderr, flush=True)
