"""The main thread looks for a result again and again, and sleeps in between."""

import threading
import time

result = threading.Event()
while not result.is_set():
    time.sleep(0.05)
