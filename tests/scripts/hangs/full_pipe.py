"""Two processes write to each other through pipes that nobody reads."""

import os

a_read, a_write = os.pipe()
b_read, b_write = os.pipe()


def fill(end):
    while True:
        os.write(end, b"x" * 4096)


if os.fork() == 0:
    fill(b_write)
fill(a_write)
