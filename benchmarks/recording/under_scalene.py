"""This file trains PPO under Scalene, which has to start the process, and prints the slowdown as a line of JSON."""

import json
from dataclasses import asdict

from benchmarks.recording import peers
from benchmarks.recording.slowdown import slowdown_of_blocks
from benchmarks.recording.workloads import blocks_of

if __name__ == "__main__":
    print(json.dumps(asdict(slowdown_of_blocks(blocks_of("ppo"), peers.scalene_recording))), flush=True)
