"""A loop of two operations that needs no library: `looping.py FILE [slow]`. It ends once the file is there.

With `slow` its iteration number 30 takes a second. Prints `ready` first.
"""

import os
import sys
import time

import rlscope

print("ready", flush=True)
iteration = 0
with rlscope.operation("training_loop"):
    while not os.path.exists(sys.argv[1]):
        iteration += 1
        with rlscope.operation("inference"):
            sum(range(5000))
        with rlscope.operation("backpropagation"):
            time.sleep(1 if "slow" in sys.argv and iteration == 30 else 0.005)
        rlscope.report_progress(timesteps=8 * iteration)
