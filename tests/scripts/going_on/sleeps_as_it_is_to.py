"""The main thread waits, as somebody does who may ask a service only now and then."""

import time

time.sleep(1000)
