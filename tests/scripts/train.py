"""Trains with Stable-Baselines3 as a user would, without a word about profiling; prints a digest of the parameters."""

import argparse
import hashlib

import stable_baselines3
import torch
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

SETTINGS = {
    "PPO": {"n_steps": 256, "n_epochs": 4},
    "A2C": {"n_steps": 8},
    "DQN": {"learning_starts": 100, "target_update_interval": 50},
    "DDPG": {"learning_starts": 100},
    "TD3": {"learning_starts": 100},
    "SAC": {"learning_starts": 100},
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("algorithm", choices=SETTINGS)
    parser.add_argument("--env", default="Walker2d-v5")
    parser.add_argument("--timesteps", type=int, default=400)
    parser.add_argument("--envs", type=int, default=1)
    parser.add_argument("--workers", choices=["none", "fork", "forkserver", "spawn"], default="none")
    args = parser.parse_args()
    torch.set_num_threads(1)
    subprocesses = args.workers != "none"
    env = make_vec_env(
        args.env,
        n_envs=args.envs,
        seed=7,
        vec_env_cls=SubprocVecEnv if subprocesses else DummyVecEnv,
        vec_env_kwargs={"start_method": args.workers} if subprocesses else None,
    )
    model = getattr(stable_baselines3, args.algorithm)(
        "MlpPolicy", env, seed=7, device="cpu", **SETTINGS[args.algorithm]
    )
    model.learn(args.timesteps)
    env.close()
    digest = hashlib.sha256()
    for _, value in sorted(model.policy.state_dict().items()):
        digest.update(value.numpy().tobytes())
    print(digest.hexdigest())


if __name__ == "__main__":
    main()
