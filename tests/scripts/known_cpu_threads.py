"""Two threads compute at once, each in an operation of its own: prints the processor time of each as JSON."""

import json
import threading
import time

import numpy as np

import rlscope

TIMES: dict[str, float] = {}


def compute(operation: str, products: int) -> None:
    x = np.ones((300, 300))
    with rlscope.operation(operation):
        start_ns = time.thread_time_ns()
        for _ in range(products):
            x @ x
        TIMES[operation] = (time.thread_time_ns() - start_ns) / 1e9


threads = [threading.Thread(target=compute, args=given) for given in (("few", 100), ("many", 300))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps(TIMES))
