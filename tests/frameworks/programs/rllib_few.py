"""A few iterations of RLlib: in one process, on its old API stack, and with runners and a learner that are actors.

Prints environment steps and iterations of each part as JSON; each is a phase of the recording.
"""

import json

import ray
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.dqn import DQNConfig
from ray.rllib.algorithms.ppo import PPOConfig

import rlscope

ITERATIONS = 2


def train(name: str, config: AlgorithmConfig) -> int:
    with rlscope.phase(name):
        algorithm = config.build_algo()
        for _ in range(ITERATIONS):
            algorithm.train()
        if config.enable_env_runner_and_connector_v2:
            steps = algorithm.metrics.peek(("env_runners", "num_env_steps_sampled_lifetime"))
        else:
            steps = algorithm._counters["num_env_steps_sampled"]
        algorithm.stop()
    return int(steps)


if __name__ == "__main__":
    ray.init("local", num_cpus=3, include_dashboard=False, log_to_driver=False, object_store_memory=100 * 2**20)
    dqn = (
        DQNConfig()
        .environment("CartPole-v1")
        .training(
            train_batch_size_per_learner=16, num_steps_sampled_before_learning_starts=20, target_network_update_freq=10
        )
        .reporting(min_sample_timesteps_per_iteration=30)
        .evaluation(evaluation_interval=2, evaluation_duration=1)
    )
    old = (
        PPOConfig()
        .environment("CartPole-v1")
        .api_stack(enable_rl_module_and_learner=False, enable_env_runner_and_connector_v2=False)
        .env_runners(num_env_runners=0)
        .training(train_batch_size=100, minibatch_size=50, num_epochs=1)
    )
    actors = (
        PPOConfig()
        .environment("InvertedPendulum-v5")
        .env_runners(num_env_runners=2)
        .learners(num_learners=1)
        .training(train_batch_size_per_learner=200, minibatch_size=100, num_epochs=2)
    )
    parts = {"dqn": dqn, "old": old, "actors": actors}
    steps = {name: train(name, config) for name, config in parts.items()}
    ray.shutdown()
    print(json.dumps({"steps": steps, "iterations": ITERATIONS * len(parts)}))
