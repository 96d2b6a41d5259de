"""Writes one byte into each of many pipes, one after the other. Argument: how many."""

import os
import sys

for _ in range(int(sys.argv[1])):
    reader, writer = os.pipe()
    os.write(writer, b"x")
    os.close(reader)
    os.close(writer)
