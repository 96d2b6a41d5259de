"""A training loop whose stages take known times: `python workload.py [PERCENT]` makes backpropagation so much longer.

It sleeps in its stages, as a loop that waits for an engine or a device does, so its runs scatter little on a machine
that does other things as well.
"""

import sys
import time

import rlscope

ITERATIONS = 25
STAGES_S = {"simulation": 0.006, "inference": 0.004, "backpropagation": 0.010}


def main() -> None:
    """Run the loop."""
    slower = float(sys.argv[1]) if len(sys.argv) > 1 else 0.0
    rlscope.report_progress(timesteps=0)
    for number in range(ITERATIONS):
        for stage, seconds in STAGES_S.items():
            with rlscope.operation(stage):
                time.sleep(seconds * (1 + slower / 100 * (stage == "backpropagation")))
        rlscope.report_progress(timesteps=number + 1)


if __name__ == "__main__":
    main()
