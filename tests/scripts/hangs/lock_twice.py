"""A thread takes a lock that it has."""

import threading

lock = threading.Lock()
with lock:
    lock.acquire()
