"""SAC of Stable-Baselines3 on a pendulum, as its documentation trains."""

import time

import gymnasium as gym
from stable_baselines3 import SAC


def main() -> None:
    model = SAC("MlpPolicy", gym.make("Pendulum-v1"), learning_starts=100, buffer_size=200_000, seed=1)
    began = time.perf_counter()
    model.learn(total_timesteps=400)
    print(f"seconds {time.perf_counter() - began:.3f}")


if __name__ == "__main__":
    main()
