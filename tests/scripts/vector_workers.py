"""Gymnasium's own worker processes."""

import gymnasium


def main() -> None:
    env = gymnasium.make_vec("Walker2d-v5", num_envs=2, vectorization_mode="async")
    env.reset(seed=1)
    for _ in range(30):
        env.step(env.action_space.sample())
    env.close()
    print("done")


if __name__ == "__main__":
    main()
