"""This file holds PPO as published for each simulator: schedule, policy and environments differ between them."""

from dataclasses import dataclass

from stable_baselines3 import PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecEnv, VecNormalize
from vector_environment import atari_environments, environments

GAMMA = 0.99


@dataclass(frozen=True)
class Setting:
    """The hyper-parameters of PPO that differ between simulators; the defaults are those of the walking robots.

    Attributes:
        environments: how many take a step in turn.
        steps: of each environment in a rollout.
        batch_size: timesteps in a minibatch.
        learning_rate: constant, or falling to zero with the training.
        clip_range: of the policy's ratio, likewise.
        clip_range_vf: of the value; None where it is not clipped.
        epochs: how often an update goes over the rollout.
        ent_coef: weight of the entropy.
        policy: of Stable-Baselines3; CnnPolicy stands for an Atari game with its wrappers.
        widths: of the layers behind the features, of the policy and of the value alike.
        has_time_feature: whether observations say how much of the episode is left.
        is_normalized: whether observations and returns are.
    """

    environments: int
    steps: int
    batch_size: int = 64
    learning_rate: float | LinearSchedule = 2.5e-4
    clip_range: float | LinearSchedule = 0.2
    clip_range_vf: float | None = 0.2
    epochs: int = 10
    ent_coef: float = 0.0
    policy: str = "MlpPolicy"
    widths: tuple[int, ...] = (64, 64)
    has_time_feature: bool = False
    is_normalized: bool = True


FALLING = LinearSchedule(2.5e-4, 0.0, 1.0)
WALKER = Setting(4, 1024, learning_rate=FALLING, clip_range=0.1, clip_range_vf=None, has_time_feature=True)

#: By the beginning of the environment's id; all others train as the walker. From the collection that the paper used,
#: rl-baselines-zoo, which has PyBullet's robots and Atari's games. It has no drone: the one with a camera trains as the
#: walker too, but neither its pictures nor the distances beside them are normalised.
SETTINGS = {
    "Ant": Setting(8, 256, widths=(16,)),
    "HalfCheetah": Setting(1, 2048, learning_rate=3e-4, has_time_feature=True),
    "Hopper": Setting(8, 2048, batch_size=128),
    "Pong": Setting(
        8, 128, 256, FALLING, LinearSchedule(0.1, 0.0, 1.0), None, 4, 0.01, "CnnPolicy", (), is_normalized=False
    ),
    "CameraDrone": Setting(4, 1024, 64, FALLING, 0.1, None, policy="MultiInputPolicy", is_normalized=False),
}


def setting_of(env_id: str) -> Setting:
    """Return the hyper-parameters for an environment, whose id may begin with the module that it is in."""
    name = env_id.rpartition(":")[2]
    return next((setting for start, setting in SETTINGS.items() if name.startswith(start)), WALKER)


def ppo(env_id: str, seed: int, device: str, rollout_steps: int | None = None) -> BaseAlgorithm:
    """Return PPO; an iteration is a rollout and its update: `rollout_steps` (default: as published) of each
    environment.

    With fewer steps there are fewer minibatches of the same size, so that work per timestep stays what it is.
    """
    setting = setting_of(env_id)
    return PPO(
        setting.policy,
        prepared(env_id, setting, seed),
        n_steps=rollout_steps or setting.steps,
        n_epochs=setting.epochs,
        batch_size=setting.batch_size,
        learning_rate=setting.learning_rate,
        clip_range=setting.clip_range,
        clip_range_vf=setting.clip_range_vf,
        gamma=GAMMA,
        gae_lambda=0.95,
        ent_coef=setting.ent_coef,
        vf_coef=0.5,
        policy_kwargs={"net_arch": list(setting.widths)},
        seed=seed,
        device=device,
    )


def prepared(env_id: str, setting: Setting, seed: int) -> VecEnv:
    """Return the environments with what the setting puts around them."""
    if setting.policy == "CnnPolicy":
        return atari_environments(env_id, setting.environments, seed)
    envs = environments(env_id, setting.environments, seed, setting.has_time_feature)
    return VecNormalize(envs, gamma=GAMMA) if setting.is_normalized else envs
