"""Starts many Ray actors, calls a method of each, and has one task make numbers.

Arguments: how many actors, and a file for their process ids, as JSON: Ray prints warnings of its own.
"""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import ray

import rlscope


@ray.remote(num_cpus=0)
class Player:
    def play(self) -> int:
        with rlscope.operation("play"):
            return os.getpid()


@ray.remote
def count(limit: int) -> Iterator[int]:
    for number in range(limit):
        with rlscope.operation("count"):
            square = number * number
        yield square


if __name__ == "__main__":
    # "local": a Ray of its own, beside one that may run on this machine.
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100 * 2**20)
    players = [Player.remote() for _ in range(int(sys.argv[1]))]  # type: ignore[attr-defined]
    pids = ray.get([player.play.remote() for player in players])
    numbers = count.remote(3)
    ray.wait([numbers])
    assert [ray.get(number) for number in numbers] == [0, 1, 4]  # type: ignore[attr-defined]
    Path(sys.argv[2]).write_text(json.dumps(pids))
    ray.shutdown()
