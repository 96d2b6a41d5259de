"""A thread took a lock and ended without giving it back."""

import threading

lock = threading.Lock()
thread = threading.Thread(target=lock.acquire)
thread.start()
thread.join()
with lock:
    pass
