"""Train RSL-RL's PPO on CartPole whose environments are tensors on a device, each step some thirty calls of PyTorch.

    python rsl_rl_train.py --device cuda --stop-after 2000000

The loop and its settings are those of robots on simulators of this kind, RSL-RL's checks for NaN included. Nothing here
names a stage: those of a recorded run come from `rlscope record` itself. Prints one line of JSON.
"""

import time
from typing import Any

import torch
from batched_training import make_parser, print_iterations
from cartpole.implementation import MOST_STEPS, WIDTHS
from cartpole.pytorch import new_starts, started, step, usable_device
from rsl_rl.runners import OnPolicyRunner
from tensordict import TensorDict
from torch import Tensor

EPOCHS, MINIBATCHES = 4, 8


class Environments:
    """N CartPoles as RSL-RL takes an environment; a positive action pushes to the right.

    Attributes:
        starts_s: when each rollout took its first step.
    """

    num_actions = 1
    max_episode_length = MOST_STEPS

    def __init__(self, environments: int, steps: int, device: torch.device) -> None:
        self.num_envs, self.device = environments, device
        self.cfg: dict[str, Any] = {}
        self.starts_s: list[float] = []
        self._batch = started(new_starts(torch.empty(WIDTHS[0], environments, device=device)))
        self._steps_of_rollout, self._taken = steps, 0

    @property
    def episode_length_buf(self) -> Tensor:
        """Return the steps that episodes have lasted."""
        return self._batch.steps

    def get_observations(self) -> TensorDict:
        """Return the states."""
        return TensorDict({"policy": self._batch.states.T.contiguous()}, batch_size=[self.num_envs])

    def step(self, actions: Tensor) -> tuple[TensorDict, Tensor, Tensor, dict[str, Tensor]]:
        """Move all environments: a reward of 1 for each."""
        if self._taken % self._steps_of_rollout == 0:
            self.starts_s.append(time.perf_counter())
        self._taken += 1
        self._batch, taken = step(self._batch, (actions[:, 0] > 0).int())
        dones = taken.terminated | taken.truncated
        rewards = torch.ones(self.num_envs, device=self.device)
        return self.get_observations(), rewards, dones.long(), {"time_outs": taken.truncated.float()}


def settings_of(steps: int) -> dict[str, Any]:
    """Return what RSL-RL's documentation has for a robot that walks, but for the lengths."""
    model = {"class_name": "MLPModel", "hidden_dims": [64, 64], "activation": "elu"}
    distribution = {"class_name": "GaussianDistribution", "init_std": 1.0, "std_type": "scalar"}
    algorithm = {
        "class_name": "PPO", "num_learning_epochs": EPOCHS, "num_mini_batches": MINIBATCHES, "gamma": 0.99, "lam": 0.95,
        "learning_rate": 1e-3, "schedule": "adaptive", "desired_kl": 0.01, "entropy_coef": 0.01, "clip_param": 0.2,
        "value_loss_coef": 1.0, "max_grad_norm": 1.0, "use_clipped_value_loss": True, "rnd_cfg": None,
        "symmetry_cfg": None,
    }  # fmt: skip
    return {
        "algorithm": algorithm,
        "actor": {**model, "distribution_cfg": distribution},
        "critic": model,
        "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
        "num_steps_per_env": steps,
        "save_interval": 1_000_000,
    }


def main() -> None:
    """Train as the command line says."""
    arguments = make_parser(__doc__).parse_args()
    torch.manual_seed(arguments.seed)
    env = Environments(arguments.environments, arguments.steps, usable_device("RSL-RL", arguments.device))
    runner = OnPolicyRunner(env, settings_of(arguments.steps), log_dir=None, device=arguments.device)
    runner.learn(arguments.stop_after // (arguments.environments * arguments.steps))
    ends_s = [*env.starts_s[1:], time.perf_counter()]
    seconds = [end_s - start_s for start_s, end_s in zip(env.starts_s, ends_s, strict=True)]
    print_iterations(arguments.environments, 1, seconds)


if __name__ == "__main__":
    main()
