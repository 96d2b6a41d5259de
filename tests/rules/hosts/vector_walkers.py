"""Evolution strategies on two humanoids that step in processes of Gymnasium's vector environment."""

import time

import gymnasium as gym
import numpy as np

WALKERS, GENERATIONS, STEPS = 2, 24, 25


def main() -> None:
    rng = np.random.default_rng(1)
    envs = gym.vector.AsyncVectorEnv([lambda: gym.make("Humanoid-v5", frame_skip=20)] * WALKERS)
    mean = np.zeros((envs.single_observation_space.shape[0], envs.single_action_space.shape[0]), np.float32)
    began = time.perf_counter()
    for generation in range(GENERATIONS):
        noise = rng.standard_normal((WALKERS, *mean.shape)).astype(np.float32)
        totals = np.zeros(WALKERS)
        observation, _ = envs.reset(seed=generation)
        for _step in range(STEPS):
            action = np.tanh(np.einsum("no,noa->na", observation, mean + 0.02 * noise)) * 0.4
            observation, reward, _, _, _ = envs.step(action.astype(np.float32))
            totals += reward
        advantage = (totals - totals.mean()) / (totals.std() + 1e-6)
        mean += 0.01 * np.einsum("n,noa->oa", advantage, noise)
    envs.close()
    print(f"seconds {time.perf_counter() - began:.3f}")


if __name__ == "__main__":
    main()
