"""A thread waits for a lock of another one that computes."""

import threading
import time

lock = threading.Lock()


def hold():
    with lock:
        sum(number * number for number in range(10**12))


threading.Thread(target=hold, daemon=True).start()
time.sleep(0.5)
with lock:
    pass
