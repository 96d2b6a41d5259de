"""Two threads record operations and count them in a file that outlives this process."""

import ctypes
import mmap
import sys
import threading

import rlscope

THREADS = 2
with open(sys.argv[1], "r+b") as file:
    # One store a count: struct.pack_into would write zeroes first.
    counts = (ctypes.c_uint64 * THREADS).from_buffer(mmap.mmap(file.fileno(), 8 * THREADS))


def count(number: int) -> None:
    operation = rlscope.operation(f"operation {number}")
    done = 0
    while True:
        with operation:
            pass
        done += 1
        counts[number] = done


threads = [threading.Thread(target=count, args=(number,)) for number in range(THREADS)]
for thread in threads:
    thread.start()
print("ready", flush=True)
