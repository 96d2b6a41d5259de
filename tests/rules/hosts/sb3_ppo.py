"""PPO of Stable-Baselines3 on four cart poles in one process, as its README trains."""

import time

from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env


def main() -> None:
    environments = make_vec_env("CartPole-v1", n_envs=4, seed=1)
    model = PPO("MlpPolicy", environments, n_steps=256, batch_size=128, n_epochs=6, seed=1)
    began = time.perf_counter()
    model.learn(total_timesteps=6144)
    print(f"seconds {time.perf_counter() - began:.3f}")


if __name__ == "__main__":
    main()
