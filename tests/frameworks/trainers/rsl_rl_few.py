"""RSL-RL's PPO on a batched environment of tensors, which is no class of RSL-RL's or Gymnasium's."""

import torch
from rsl_rl.algorithms import PPO
from rsl_rl.runners import OnPolicyRunner
from tensordict import TensorDict
from watch import print_learnt, watch


class Reach:
    """Points that shall go to the middle; an action is a velocity."""

    def __init__(self, num_envs: int) -> None:
        self.num_envs, self.num_actions, self.max_episode_length = num_envs, 3, 50
        self.device, self.cfg = "cpu", {}
        self.episode_length_buf = torch.zeros(num_envs, dtype=torch.long)
        self.position = torch.randn(num_envs, 3)

    def get_observations(self) -> TensorDict:
        return TensorDict({"policy": self.position.clone()}, batch_size=[self.num_envs])

    def step(self, actions: torch.Tensor) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict]:
        for _ in range(4):
            self.position = self.position + 0.02 * actions.clamp(-1, 1)
        self.episode_length_buf += 1
        dones = self.episode_length_buf >= self.max_episode_length
        self.position[dones] = torch.randn(int(dones.sum()), 3)
        self.episode_length_buf[dones] = 0
        return self.get_observations(), -self.position.norm(dim=1), dones.long(), {"time_outs": dones.float()}


def model(**distribution: object) -> dict[str, object]:
    return {"class_name": "MLPModel", "hidden_dims": [64, 64], "activation": "elu", **distribution}


torch.set_num_threads(1)
torch.manual_seed(7)
settings = {
    "algorithm": {
        "class_name": "PPO", "num_learning_epochs": 5, "num_mini_batches": 4, "gamma": 0.99, "lam": 0.95,
        "learning_rate": 1e-3, "schedule": "adaptive", "desired_kl": 0.01, "entropy_coef": 0.01, "clip_param": 0.2,
        "value_loss_coef": 1.0, "max_grad_norm": 1.0, "use_clipped_value_loss": True, "rnd_cfg": None,
        "symmetry_cfg": None,
    },
    "actor": model(distribution_cfg={"class_name": "GaussianDistribution", "init_std": 1.0, "std_type": "scalar"}),
    "critic": model(),
    "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
    "num_steps_per_env": 24, "save_interval": 50,
}  # fmt: skip
runner = OnPolicyRunner(Reach(256), settings, log_dir=None, device="cpu")
watch("simulation", Reach, "step")
watch("inference", PPO, "act", "process_env_step")
watch("backpropagation", PPO, "compute_returns", "update")
runner.learn(15)
print_learnt(runner.alg.actor, runner.alg.critic)
