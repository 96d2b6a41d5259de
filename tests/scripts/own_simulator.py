"""Makes a native module known as a simulator, and calls it in each of three iterations."""

import math

import rlscope

print(rlscope.wrap_module(math, category="simulator"))
for iteration in range(3):
    for _ in range(10):
        math.hypot(3.0, 4.0)
    rlscope.report_progress(timesteps=iteration + 1, total_timesteps=3)
print(rlscope.wrap_module(math, category="simulator"))
