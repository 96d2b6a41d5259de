"""Generators are resumed all the time: each chunk of a JSON text goes through three of them."""

import io
import json
import time

import rlscope

rows = [[number / 7] * 8 for number in range(500)]
until = time.perf_counter() + 2
with rlscope.operation("simulation"):
    while time.perf_counter() < until:
        json.dump(rows, io.StringIO())
