"""Two threads take two locks in opposite order."""

import threading
import time

a, b = threading.Lock(), threading.Lock()


def one():
    with a:
        time.sleep(0.3)
        with b:
            pass


def two():
    with b:
        time.sleep(0.3)
        with a:
            pass


threads = [threading.Thread(target=one, name="one", daemon=True), threading.Thread(target=two, name="two", daemon=True)]
for thread in threads:
    thread.start()
while any(thread.is_alive() for thread in threads):
    time.sleep(0.05)
