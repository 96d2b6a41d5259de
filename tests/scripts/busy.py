"""Two processes that record some 1 MB a second until a file is there: `busy.py FILE`. Prints `ready` first."""

import os
import sys
import time

import rlscope

print("ready", flush=True)
child = os.fork()
while not os.path.exists(sys.argv[1]):
    for _ in range(400):
        with rlscope.operation("simulation"):
            pass
    time.sleep(0.002)
if child:
    os.waitpid(child, 0)
