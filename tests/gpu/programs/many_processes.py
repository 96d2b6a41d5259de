"""Several processes at once, each with a kernel of 10 us every millisecond: what does the driver report of them?

rlscope record --no-auto -o trace -- python many_processes.py 8
rlscope analyze trace --json      # device_timeline: busy and reported
"""

import subprocess
import sys

#: One thread that spins for 18,000 cycles, about 10 us, then a millisecond of nothing; for 6 s.
CHILD = """
import time
import torch
torch.cuda._sleep(1000)
torch.cuda.synchronize()
end_s = time.monotonic() + 6
while time.monotonic() < end_s:
    torch.cuda._sleep(18_000)
    torch.cuda.synchronize()
    next_s = time.monotonic() + 0.001
    while time.monotonic() < next_s:
        pass
"""


def main() -> None:
    """Starts as many as the command line says, and waits for them."""
    processes = [subprocess.Popen([sys.executable, "-c", CHILD]) for _ in range(int(sys.argv[1]))]
    sys.exit(max(process.wait() for process in processes))


if __name__ == "__main__":
    main()
