"""PPO of RLlib on a robot of MuJoCo, in processes of their own: two that collect and one that learns.

python experiments/workloads/rllib_ppo.py --iterations 20
"""

import argparse

import ray
from option_types import whole
from ray.rllib.algorithms.ppo import PPOConfig


def main() -> None:
    """Train for as many iterations as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--env", default="Walker2d-v5", help="of Gymnasium (default: Walker2d-v5)")
    parser.add_argument("--iterations", type=whole, default=10, help="default: 10")
    arguments = parser.parse_args()
    ray.init("local", num_cpus=3, include_dashboard=False, log_to_driver=False, object_store_memory=100 * 2**20)
    config = (
        PPOConfig()
        .environment(arguments.env)
        .env_runners(num_env_runners=2)
        .learners(num_learners=1)
        .training(train_batch_size_per_learner=2048, minibatch_size=64, num_epochs=10)
    )
    algorithm = config.build_algo()
    for _ in range(arguments.iterations):
        algorithm.train()
    algorithm.stop()
    ray.shutdown()


if __name__ == "__main__":
    main()
