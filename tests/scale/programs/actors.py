"""Starts many Ray actors, calls a method of each, and has one task make numbers. Argument: how many actors.

Prints the actors' process ids, as JSON.
"""

import json
import os
import sys
from collections.abc import Iterator

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
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100 * 2**20)
    players = [Player.remote() for _ in range(int(sys.argv[1]))]
    pids = ray.get([player.play.remote() for player in players])
    numbers = count.remote(3)
    ray.wait([numbers])
    assert [ray.get(number) for number in numbers] == [0, 1, 4]
    print(json.dumps(pids))
    ray.shutdown()
