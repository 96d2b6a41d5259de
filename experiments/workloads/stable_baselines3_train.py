"""Train DDPG, SAC, A2C or PPO with Stable-Baselines3 and the published hyper-parameters, those of a walking robot.

PPO has its own for other simulators (ppo.py). Nothing here knows about rlscope: the operations of a recorded run come
from `rlscope record` itself.

    python stable_baselines3_train.py --algo ppo --env Walker2d-v5 --stop-after 8192
"""

import argparse

import numpy as np
import torch
from ppo import ppo
from stable_baselines3 import A2C, DDPG, SAC
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.utils import LinearSchedule, update_learning_rate
from stable_baselines3.common.vec_env import VecNormalize
from stop_after import StopAfter
from vector_environment import environments

DDPG_ACTOR_RATE = 1e-4
DDPG_CRITIC_RATE = 1e-3
DDPG_WIDTH = 64


class LayerNormReLU(torch.nn.Sequential):
    """Layer normalisation, then ReLU: given as the activation function, it makes the published DDPG networks."""

    def __init__(self) -> None:
        super().__init__(torch.nn.LayerNorm(DDPG_WIDTH), torch.nn.ReLU())


class TwoRateDDPG(DDPG):
    """DDPG whose actor learns slower than its critic, as published; Stable-Baselines3 has one rate for both."""

    def _update_learning_rate(self, optimizers: list[torch.optim.Optimizer] | torch.optim.Optimizer) -> None:
        update_learning_rate(self.actor.optimizer, DDPG_ACTOR_RATE)
        update_learning_rate(self.critic.optimizer, DDPG_CRITIC_RATE)


def ddpg(env_id: str, seed: int, device: str) -> BaseAlgorithm:
    """Return DDPG; an iteration is 100 timesteps and 50 gradient steps."""
    envs = VecNormalize(environments(env_id, 1, seed, time_feature=False), gamma=0.95)
    noise = np.full(envs.action_space.shape or (), 0.15)
    return TwoRateDDPG(
        "MlpPolicy",
        envs,
        train_freq=(100, "step"),
        gradient_steps=50,
        batch_size=128,
        gamma=0.95,
        buffer_size=1_000_000,
        action_noise=NormalActionNoise(0 * noise, noise),
        policy_kwargs={"net_arch": [DDPG_WIDTH, DDPG_WIDTH], "activation_fn": LayerNormReLU},
        seed=seed,
        device=device,
    )


def sac(env_id: str, seed: int, device: str) -> BaseAlgorithm:
    """Return SAC; an iteration is one timestep and, after the first 1000, one gradient step."""
    return SAC(
        "MlpPolicy",
        environments(env_id, 1, seed, time_feature=True),
        train_freq=1,
        gradient_steps=1,
        learning_starts=1000,
        batch_size=256,
        learning_rate=LinearSchedule(3e-4, 0.0, 1.0),
        ent_coef=0.01,
        buffer_size=1_000_000,
        policy_kwargs={"net_arch": [256, 256]},
        seed=seed,
        device=device,
    )


def a2c(env_id: str, seed: int, device: str) -> BaseAlgorithm:
    """Return A2C; an iteration is 4 x 32 timesteps and one update."""
    return A2C(
        "MlpPolicy",
        VecNormalize(environments(env_id, 4, seed, time_feature=False), gamma=0.99),
        n_steps=32,
        learning_rate=LinearSchedule(2e-3, 0.0, 1.0),
        gamma=0.99,
        ent_coef=0.0,
        vf_coef=0.5,
        policy_kwargs={"net_arch": [64, 64]},
        seed=seed,
        device=device,
    )


ALGORITHMS = {"ddpg": ddpg, "sac": sac, "a2c": a2c, "ppo": ppo}


def main() -> None:
    """Build the agent that the command line names, and train it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--algo", choices=sorted(ALGORITHMS), required=True)
    parser.add_argument("--env", default="Walker2DBulletEnv-v0", help="a Gymnasium environment id")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--total-timesteps", type=int, default=2_000_000, help="length of the whole training")
    parser.add_argument("--stop-after", type=int, help="end after this many timesteps of it (default: train it all)")
    parser.add_argument("--device", default="cpu", help="where PyTorch computes: cpu or cuda")
    parser.add_argument("--rollout-steps", type=int, help="of each environment, PPO only (default: as published)")
    arguments = parser.parse_args()
    if arguments.rollout_steps and arguments.algo != "ppo":
        parser.error(f"--rollout-steps: expected --algo ppo, found {arguments.algo}; leave one of them out")

    options = {"rollout_steps": arguments.rollout_steps} if arguments.rollout_steps else {}
    torch.set_num_threads(1)
    agent = ALGORITHMS[arguments.algo](arguments.env, arguments.seed, arguments.device, **options)
    agent.learn(arguments.total_timesteps, callback=StopAfter(arguments.stop_after or arguments.total_timesteps))
    print(f"{arguments.algo} on {arguments.env}: {agent.num_timesteps} timesteps")


if __name__ == "__main__":
    main()
