"""Train DDPG, SAC, A2C or PPO with Stable-Baselines3 and the published hyper-parameters, those of a walking robot.

PPO has its own for other simulators (ppo.py). Nothing here knows about rlscope: the operations of a recorded run come
from `rlscope record` itself.

    python stable_baselines3_train.py --algo ppo --env Walker2d-v5 --stop-after 8192
"""

import argparse

import torch
from hyperparameters import DDPG
from ppo import ppo
from stable_baselines3 import A2C, SAC
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecNormalize
from stable_baselines3_loop import learn
from stable_baselines3_off_policy import OffPolicy
from vector_environment import environments


def ddpg(env_id: str, seed: int, device: str) -> BaseAlgorithm:
    """Return DDPG; an iteration is 100 timesteps and 50 gradient steps."""
    envs = VecNormalize(environments(env_id, 1, seed, time_feature=False), gamma=DDPG.gamma)
    return OffPolicy(envs, DDPG, seed, device)


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


def make_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser to which a script adds its own options."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--algo", choices=sorted(ALGORITHMS), required=True)
    parser.add_argument("--env", default="Walker2DBulletEnv-v0", help="a Gymnasium environment id")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--total-timesteps", type=int, default=2_000_000, help="length of the whole training")
    parser.add_argument("--device", default="cpu", help="where PyTorch computes: cpu or cuda")
    parser.add_argument("--rollout-steps", type=int, help="of each environment, PPO only (default: as published)")
    return parser


def parsed(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Return the command line, if its options go together."""
    arguments = parser.parse_args()
    if arguments.rollout_steps and arguments.algo != "ppo":
        parser.error(f"--rollout-steps: expected --algo ppo, found {arguments.algo}; leave one of them out")
    return arguments


def make_agent(arguments: argparse.Namespace) -> BaseAlgorithm:
    """Return the agent that the command line names."""
    options = {"rollout_steps": arguments.rollout_steps} if arguments.rollout_steps else {}
    return ALGORITHMS[arguments.algo](arguments.env, arguments.seed, arguments.device, **options)


def main() -> None:
    """Build the agent that the command line names, and train it."""
    parser = make_parser(__doc__)
    parser.add_argument("--stop-after", type=int, help="end after this many timesteps of it (default: train it all)")
    arguments = parsed(parser)
    torch.set_num_threads(1)
    learn(make_agent(arguments), arguments)


if __name__ == "__main__":
    main()
