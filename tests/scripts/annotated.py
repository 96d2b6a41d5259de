"""PPO by Stable-Baselines3 twice in one process, in turns: annotated by hand, and left to the automatic hooks.

By hand means as a user would who does not know the hooks: subclasses that wrap what is called. Both are timed at these
places by a stopwatch as well, because two executions are never equally long. The first argument is a directory: traces
go to by_hand/N and by_hooks/N in it; prints the stopwatch's nanoseconds as JSON.
"""

import json
import sys
from pathlib import Path

import gymnasium
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.vec_env import DummyVecEnv
from stopwatch import Stopwatch, nanoseconds

from rlscope.libraries import LIBRARIES
from rlscope.record import recorder
from rlscope.record.config import RecordConfig

ROUNDS = 6
MARKS: dict[str, list[tuple[int, str]]] = {"by_hand": [], "by_hooks": []}
STOPWATCH = Stopwatch()
stage = STOPWATCH.stage


class AnnotatedEnv(DummyVecEnv):
    step = stage("simulation")(DummyVecEnv.step)
    reset = stage("simulation")(DummyVecEnv.reset)


class AnnotatedBuffer(RolloutBuffer):
    compute_returns_and_advantage = stage("backpropagation")(RolloutBuffer.compute_returns_and_advantage)


class AnnotatedPPO(PPO):
    collect_rollouts = stage("inference")(PPO.collect_rollouts)
    train = stage("backpropagation")(PPO.train)
    learn = stage("training_loop")(PPO.learn)


torch.set_num_threads(1)
model = AnnotatedPPO(
    "MlpPolicy",
    AnnotatedEnv([lambda: gymnasium.make("Walker2d-v5")]),
    n_steps=512,
    n_epochs=4,
    rollout_buffer_class=AnnotatedBuffer,
    seed=7,
    device="cpu",
)
model.learn(1024)
for number in range(ROUNDS):
    for way in MARKS:
        directory = Path(sys.argv[1], way, str(number))
        directory.mkdir(parents=True)
        config = RecordConfig(auto=way == "by_hooks")
        config.save(directory)
        # What was timed until the first of these was to warm up.
        STOPWATCH.is_by_hand, STOPWATCH.marks = way == "by_hand", MARKS[way]
        recorder.activate(directory, config, LIBRARIES)
        model.learn(1024, reset_num_timesteps=False)
        recorder.deactivate()
print(json.dumps({way: nanoseconds(marks) for way, marks in MARKS.items()}))
