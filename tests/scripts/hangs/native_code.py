"""The main thread is in native code that waits without a boundary."""

import ctypes

ctypes.CDLL(None).pause()
