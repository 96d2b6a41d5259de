"""Makes two updates with the Stable-Baselines3 workload, compiled or not."""

import numpy as np
import stable_baselines3_off_policy as workload
import torch
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.type_aliases import ReplayBufferSamples
from stable_baselines3.common.vec_env import DummyVecEnv
from update_problem import UPDATES, Shape, networks, noiseless, parse

arguments = parse()
torch.set_num_threads(1)
problem = dict(np.load(arguments.problem))
kind = workload.CompiledOffPolicy if arguments.compile else workload.OffPolicy
envs, algorithm = DummyVecEnv([lambda: Shape(problem)]), noiseless(arguments.algo)
agent = kind(envs, algorithm, seed=0, device="cpu", is_adam_on_host=arguments.adam == "host")
agent.set_logger(Logger(None, []))


def parameters(name: str, is_target: bool = False) -> dict[str, torch.Tensor]:
    """A network's parameters under the names of the problem; matrices as PyTorch has them, transposed."""
    if name == "actor":
        network = agent.actor_target.mu if is_target else agent.actor.mu
    else:
        critics = agent.critic_target if is_target else agent.critic
        network = critics.q_networks[int(name.removeprefix("critic"))]
    found = {}
    for kind, names in ((torch.nn.Linear, ("w", "b")), (torch.nn.LayerNorm, ("scale", "offset"))):
        for index, layer in enumerate(layer for layer in network.modules() if isinstance(layer, kind)):
            for key, parameter in zip(names, (layer.weight, layer.bias), strict=True):
                found[f"{name}.{index}.{key}"] = parameter
    return found


with torch.no_grad():
    for name in networks(problem):
        for is_target in (False, True):
            for key, parameter in parameters(name, is_target).items():
                parameter.copy_(torch.as_tensor(problem[key].T))
fields = ("observation", "action", "next_observation", "done", "reward")
columns = [torch.as_tensor(problem[field].reshape(len(problem[field]), -1)) for field in fields]
agent.replay_buffer.sample = lambda *_, **__: ReplayBufferSamples(*columns)
agent.train(gradient_steps=UPDATES, batch_size=len(problem["reward"]))
np.savez(
    arguments.output,
    **{key: parameter.detach().numpy().T for name in networks(problem) for key, parameter in parameters(name).items()},
)
