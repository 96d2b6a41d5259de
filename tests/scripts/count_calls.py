"""Calls a library's native functions, recorded, while sys.setprofile counts them: prints the counts as JSON.

Only calls of named functions and methods: sys.setprofile does not see operators and indexing.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, ModuleType
from typing import Any

import rlscope

COUNTS: Counter[str] = Counter()
LIBRARIES = (
    "torch",
    "mujoco",
    "pybullet",
    "pybind11_builtins",
)  # the last one is where MuJoCo's functions say they live


def count(frame: FrameType, event: str, function: Any) -> None:
    if event == "c_call":
        owner = function.__self__
        home = function.__module__ if owner is None or isinstance(owner, ModuleType) else type(owner).__module__
        if str(home).split(".")[0] in LIBRARIES:
            COUNTS[function.__name__] += 1


@contextmanager
def counting() -> Iterator[None]:
    with rlscope.profile(sys.argv[2]):
        sys.setprofile(count)
        try:
            yield
        finally:
            sys.setprofile(None)


def use_torch() -> None:
    from stable_baselines3 import PPO

    model = PPO("MlpPolicy", "CartPole-v1", n_steps=64, batch_size=32, n_epochs=2, seed=1, device="cpu")
    with counting():
        model.learn(128)


def use_mujoco() -> None:
    import gymnasium

    env = gymnasium.make("Ant-v5")
    with counting():
        env.reset(seed=1)
        for _ in range(50):
            env.step(env.action_space.sample())


def use_pybullet() -> None:
    # Directly: Gym's environments call through functools.partial, which sys.setprofile does not look into.
    import pybullet
    import pybullet_data

    client = pybullet.connect(pybullet.DIRECT)
    pybullet.setAdditionalSearchPath(pybullet_data.getDataPath())
    with counting():
        robot = pybullet.loadURDF("r2d2.urdf", physicsClientId=client)
        for _ in range(50):
            pybullet.stepSimulation(physicsClientId=client)
            for joint in range(pybullet.getNumJoints(robot, physicsClientId=client)):
                pybullet.getJointState(robot, joint)


{"torch": use_torch, "mujoco": use_mujoco, "pybullet": use_pybullet}[sys.argv[1]]()
print(json.dumps(COUNTS))
