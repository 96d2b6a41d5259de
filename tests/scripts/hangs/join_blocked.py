"""The main thread joins a thread that waits for an event."""

import threading

event = threading.Event()


def work():
    event.wait()


thread = threading.Thread(target=work, name="worker")
thread.start()
thread.join()
