"""A child forked while another thread held a lock waits for that lock."""

import os
import threading
import time

lock = threading.Lock()


def holder():
    with lock:
        time.sleep(2)


def child():
    with lock:
        pass


threading.Thread(target=holder, daemon=True).start()
time.sleep(0.3)
pid = os.fork()
if pid == 0:
    child()
os.waitpid(pid, 0)
