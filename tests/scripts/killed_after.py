"""Records so many operations into the directory `trace`, then is killed by the system."""

import os
import signal
import sys

import rlscope

with rlscope.profile("trace"):
    operation = rlscope.operation("act")
    for _ in range(int(sys.argv[1])):
        with operation:
            pass
    os.kill(os.getpid(), signal.SIGKILL)
