"""This file trains a small PPO on CartPole; rollouts come from the fused CUDA kernel, or on a CPU from C++ threads.

    python cartpole_ppo.py --device cuda

It trains until Gymnasium's own CartPole-v1, played by the policy's likelier actions, gives a mean return of 475 over
100 episodes. It then prints one line of JSON, and ends with status 0; with 1 if all timesteps were not enough.
`--stop-after` ends it before, without that test, and then the status is 0. Acting and stepping are one kernel, so they
are one operation of a recorded run.
"""

import argparse
import json
import sys
import time
from typing import Any, Protocol

import torch
from cartpole.implementation import WIDTHS, Policy, UnavailableError
from cartpole.policies import make_policy
from evaluation import return_of_episodes
from option_types import whole
from ppo_update import Rollout, Settings, perceptron, update
from torch import Tensor, nn

import rlscope

#: Mean return over this many episodes at which CartPole-v1 counts as solved.
THRESHOLD, EPISODES = 475.0, 100
#: Mean length of a rollout's episodes from which on it is worth while to evaluate: actions are still drawn there.
PROMISING = 400

SETTINGS = {"cpu": Settings(64, 64, 1e-3, 4, 8, 0.01), "cuda": Settings(4096, 32, 2e-3, 4, 8, 0.01)}


class Actor(nn.Sequential):
    """The policy's network."""

    def __init__(self, start: Policy) -> None:
        super().__init__(*perceptron(WIDTHS))
        for layer, weight, bias in zip(self.layers(), start.weights, start.biases, strict=True):
            layer.weight.data, layer.bias.data = torch.tensor(weight), torch.tensor(bias)

    def layers(self) -> list[nn.Linear]:
        """Return the layers that have parameters."""
        return [layer for layer in self if isinstance(layer, nn.Linear)]

    def policy(self) -> Policy:
        """Return the parameters as implementations take them."""
        layers = self.layers()
        return Policy(
            [layer.weight.detach().cpu().numpy() for layer in layers],
            [layer.bias.detach().cpu().numpy() for layer in layers],
        )

    def distribution(self, states: Tensor) -> torch.distributions.Categorical:
        """Return the distribution of actions."""
        return torch.distributions.Categorical(logits=self(states), validate_args=False)


class Collector(Protocol):
    """This says where rollouts come from."""

    name: str

    def roll(self, actor: Actor) -> Rollout:
        """Return the next steps of all environments, by this policy."""


class FusedCollector:
    """One launch of the CUDA kernel, whose data are tensors as they are."""

    def __init__(self, settings: Settings, seed: int, policy: Policy) -> None:
        from cartpole.cuda import TERMINATED, TRUNCATED, Cuda

        self._ends = TERMINATED, TRUNCATED
        size = (settings.environments, settings.steps)
        self._environments = Cuda(*size, "cuda", seed, policy, variant="approximate + data")
        self.name = self._environments.name

    def roll(self, actor: Actor) -> Rollout:
        """Return the next steps of all environments, by this policy."""
        self._environments.use(actor.policy())
        self._environments.collect()
        data = self._environments.data
        states, actions, log_probabilities, rewards, ends = map(torch.from_dlpack, data.pointers())
        terminated, truncated = (ends == end for end in self._ends)
        return Rollout(states, actions.long(), log_probabilities, rewards, terminated, truncated)


class ThreadsCollector:
    """C++ threads, and PyTorch for the actions."""

    def __init__(self, settings: Settings, seed: int, policy: Policy) -> None:
        from cartpole.cpp_threads import CppThreads

        self._environments = CppThreads(settings.environments, settings.steps, "cpu", seed, policy)
        self.name = self._environments.name

    def roll(self, actor: Actor) -> Rollout:
        """Return the next steps of all environments, by this policy."""
        self._environments.use(actor.policy())
        seen = self._environments.rollout()
        states, actions = torch.from_numpy(seen.states), torch.from_numpy(seen.actions).long()
        with torch.no_grad():
            log_probabilities = actor.distribution(states[:-1]).log_prob(actions)
        terminated, truncated = torch.from_numpy(seen.terminated), torch.from_numpy(seen.truncated)
        return Rollout(states, actions, log_probabilities, torch.ones_like(log_probabilities), terminated, truncated)


def evaluate(actor: Actor, device: str, seed: int) -> float:
    """Mean return of Gymnasium's CartPole-v1 over EPISODES, each with the likelier actions."""
    return return_of_episodes("CartPole-v1", EPISODES, lambda states: actor(states).argmax(-1), device, seed)


@rlscope.operation("training_loop")
def train(device: str, seed: int, total_timesteps: int, stop_after: int | None) -> dict[str, Any]:
    """Train until it is good enough, or for so many timesteps; return what came of it.

    Args:
        device: cpu or cuda.
        seed: of the weights and of what is drawn.
        total_timesteps: after which to give up.
        stop_after: so many timesteps, good enough or not; None to find that out.
    """
    torch.manual_seed(seed)
    settings = SETTINGS[device]
    actor = Actor(make_policy(seed)).to(device)
    critic = nn.Sequential(*perceptron((*WIDTHS[:-1], 1))).to(device)
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], settings.learning_rate)
    make = FusedCollector if device == "cuda" else ThreadsCollector
    collector: Collector = make(settings, seed, actor.policy())

    started = time.perf_counter()
    timesteps, mean_return, iteration_s = 0, 0.0, []
    while mean_return < THRESHOLD and timesteps < (stop_after or total_timesteps):
        start = time.perf_counter()
        with rlscope.operation("simulation+inference"):
            rollout = collector.roll(actor)
        timesteps += rollout.actions.numel()
        with rlscope.operation("backpropagation"):
            update(actor.distribution, critic, optimizer, rollout, settings)
        ended = int((rollout.terminated | rollout.truncated).sum())  # waits for the device
        iteration_s.append(time.perf_counter() - start)
        rlscope.report_progress(timesteps=timesteps, total_timesteps=total_timesteps)
        length = rollout.actions.numel() / max(ended, 1)
        print(f"{timesteps} timesteps: episodes of {length:.0f}", file=sys.stderr)
        if stop_after is None and (length >= PROMISING or timesteps >= total_timesteps):
            mean_return = evaluate(actor, device, seed)
            print(f"{timesteps} timesteps: mean return {mean_return:.1f} in Gymnasium", file=sys.stderr)
    return {
        "implementation": collector.name,
        "device": device,
        "environments": settings.environments,
        "physics_steps": 1,
        "timesteps": timesteps,
        "seconds": time.perf_counter() - started,
        "iteration_s": iteration_s,
        "mean_return": None if stop_after else mean_return,
    }


def main() -> int:
    """Parse the arguments, train, and say what came of it."""
    parser = argparse.ArgumentParser(description="PPO on CartPole, with rollouts from one kernel.")
    parser.add_argument("--device", choices=SETTINGS, default="cuda", help="cuda (default), or cpu with C++ threads")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--total-timesteps", type=whole, default=20_000_000, help="to give up after (20000000)")
    parser.add_argument("--stop-after", type=whole, help="end after so many timesteps, good enough or not")
    arguments = parser.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        parser.error("expected a GPU for --device cuda, but PyTorch finds none here; give --device cpu")
    try:
        result = train(arguments.device, arguments.seed, arguments.total_timesteps, arguments.stop_after)
    except (UnavailableError, ImportError) as error:
        parser.error(f"{error}; or give another --device")
    print(json.dumps(result))
    return 0 if arguments.stop_after or result["mean_return"] >= THRESHOLD else 1


if __name__ == "__main__":
    sys.exit(main())
