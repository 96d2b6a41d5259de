"""Chunks of two threads between each other."""

import threading

import rlscope


def step(number: int) -> None:
    with rlscope.operation(f"outer {number % 7}"), rlscope.operation("step"):
        pass


other = threading.Thread(target=lambda: [step(number) for number in range(3_000)])
for number in range(6_000):
    step(number)
    if number == 2_000:
        other.start()
other.join()
