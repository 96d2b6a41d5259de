"""Two actors, one of which is killed before the end: the other is ended with Ray."""

import os
import time

import ray

import rlscope


@ray.remote(num_cpus=0)
class Sampler:
    def sample(self) -> int:
        with rlscope.operation("simulation"):
            return os.getpid()


if __name__ == "__main__":
    ray.init(address="local", num_cpus=1, include_dashboard=False, logging_level="error")
    kept, killed = Sampler.remote(), Sampler.remote()
    pids = ray.get([kept.sample.remote(), killed.sample.remote()])
    ray.get([kept.sample.remote() for _ in range(4)])
    os.system(f"kill -9 {pids[1]}")  # by a process that notes nothing
    time.sleep(1)
    print(*pids)
