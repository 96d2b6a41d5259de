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
    "Box2D",
)  # the last one is where MuJoCo's functions say they live


def count(frame: FrameType, event: str, function: Any) -> None:
    if event == "c_call":
        owner = function.__self__
        home = type(owner).__module__
        if owner is None or isinstance(owner, ModuleType) or home == "builtins":
            home = function.__module__
        if str(home).split(".")[0] in LIBRARIES:
            COUNTS[function.__name__.removeprefix("b2World_")] += 1


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


def use_ale() -> None:
    # Its functions are objects that sys.setprofile does not report, so the calls are counted where they are made.
    import ale_py

    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    game = ale_py.ALEInterface()
    game.loadROM(ale_py.roms.get_rom_path("pong"))
    act = game.act  # taken before recording starts
    with rlscope.profile(sys.argv[2]):
        for turn in range(70):
            act(0)
            game.act(turn % 6)
            if turn % 7 == 0:
                game.reset_game()
                game.getScreenRGB()
            game.lives()
    COUNTS.update(act=140, reset_game=10, getScreenRGB=10, lives=70)


def use_box2d() -> None:
    import gymnasium

    env = gymnasium.make("BipedalWalker-v3")
    with counting():
        env.reset(seed=1)
        for _ in range(60):
            if any(env.step(env.action_space.sample())[2:4]):
                env.reset()


def use_gym() -> None:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import gym
    import mujoco

    class Walker(gym.Env):
        """An environment of the old interface over MuJoCo."""

        action_space = observation_space = gym.spaces.Discrete(2)

        def __init__(self) -> None:
            self.model = mujoco.MjModel.from_xml_string(
                "<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>"
            )
            self.data = mujoco.MjData(self.model)

        def reset(self) -> int:
            mujoco.mj_resetData(self.model, self.data)
            return 0

        def step(self, action: int) -> tuple[int, float, bool, dict[str, int]]:
            for _ in range(action + 1):
                mujoco.mj_step(self.model, self.data)
            return 0, 0.0, False, {}

    env = Walker()
    with counting():
        for turn in range(80):
            if turn % 10 == 0:
                env.reset()
            env.step(turn % 2)


{
    "torch": use_torch,
    "ale": use_ale,
    "box2d": use_box2d,
    "gym": use_gym,
    "mujoco": use_mujoco,
    "pybullet": use_pybullet,
}[sys.argv[1]]()
print(json.dumps(COUNTS))
