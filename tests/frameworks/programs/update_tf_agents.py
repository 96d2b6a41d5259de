"""Two updates of experiments/workloads/tf_agents_train.py on a given batch, from given weights, without noise.

python update_tf_agents.py WEIGHTS_AND_BATCH.npz OUT.npz --algo td3
"""

import argparse
import dataclasses
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

os.environ["TF_USE_LEGACY_KERAS"] = "1"  # TF-Agents is written for Keras 2
sys.path.insert(0, str(Path(__file__).parents[3] / "experiments" / "workloads"))
from hyperparameters import ALGORITHMS
from tf_agents.agents import TFAgent
from tf_agents.networks import Network
from tf_agents.specs import BoundedTensorSpec, TensorSpec
from tf_agents.trajectories import StepType, Trajectory
from tf_agents.trajectories.time_step import time_step_spec
from tf_agents_train import make_agent, tf

Arrays = dict[str, np.ndarray]


def networks(agent: TFAgent) -> dict[str, Network]:
    """What is trained, by the names that the files use."""
    if hasattr(agent, "_critic_network_2"):
        critics = {"critic0": agent._critic_network_1, "critic1": agent._critic_network_2}
    else:
        critics = {"critic0": agent._critic_network}
    return {"actor": agent._actor_network, **critics}


def weights(agent: TFAgent) -> Iterator[tuple[str, tf.Variable]]:
    """Each weight and its name in the files: `actor.0.w` is that of the actor's first linear layer."""
    for network_name, network in networks(agent).items():
        number = -1
        for layer in network.layers:
            if isinstance(layer, tf.keras.layers.Dense):
                number += 1
                yield f"{network_name}.{number}.w", layer.kernel
                yield f"{network_name}.{number}.b", layer.bias
            elif isinstance(layer, tf.keras.layers.LayerNormalization):
                yield f"{network_name}.{number}.scale", layer.gamma
                yield f"{network_name}.{number}.offset", layer.beta


def as_trajectory(batch: Arrays) -> Trajectory:
    """The batch as pairs of steps; of the second one, only the observation matters."""
    size = len(batch["reward"])
    zeros = np.zeros(size, np.float32)
    parts = {
        "step_type": np.full((size, 2), StepType.MID, np.int32),
        "observation": np.stack([batch["observation"], batch["next_observation"]], axis=1),
        "action": np.stack([batch["action"], batch["action"]], axis=1),
        "next_step_type": np.full((size, 2), StepType.MID, np.int32),
        "reward": np.stack([batch["reward"], zeros], axis=1),
        "discount": np.stack([1 - batch["done"], zeros], axis=1),
    }
    kinds = {np.int32: tf.int32}
    tensors = {name: tf.constant(part, kinds.get(part.dtype.type, tf.float32)) for name, part in parts.items()}
    return Trajectory(policy_info=(), **tensors)


def main() -> None:
    """Load, update twice, save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("given", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--algo", choices=sorted(ALGORITHMS), required=True)
    arguments = parser.parse_args()
    given: Arrays = dict(np.load(arguments.given))
    algorithm = dataclasses.replace(ALGORITHMS[arguments.algo], target_noise=0.0)
    observation = TensorSpec(given["observation"].shape[1:], tf.float32)
    action = BoundedTensorSpec(given["action"].shape[1:], tf.float32, -1, 1)
    agent = make_agent(algorithm, time_step_spec(observation), action)
    for name, variable in weights(agent):
        variable.assign(given[name])
    agent.initialize()  # the targets
    for _ in range(2):
        agent.train(as_trajectory(given))
    np.savez(arguments.out, **{name: variable.numpy() for name, variable in weights(agent)})


if __name__ == "__main__":
    main()
