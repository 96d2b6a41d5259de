"""A PPO loop of TorchRL's parts, as its tutorial has it: the script itself goes backward and steps the optimizer."""

import sys

import torch
from tensordict.nn import ProbabilisticTensorDictModule, ProbabilisticTensorDictSequential, TensorDictModule
from torchrl.collectors import Collector
from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer
from torchrl.data.replay_buffers.samplers import SamplerWithoutReplacement
from torchrl.envs import GymEnv, StepCounter, TransformedEnv
from torchrl.modules import MLP, OneHotCategorical, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE
from watch import print_learnt, watch

FRAMES, ITERATIONS = 256, 4
torch.set_num_threads(1)
torch.manual_seed(7)
env = TransformedEnv(GymEnv("CartPole-v1", device="cpu"), StepCounter())
env.set_seed(7)
sizes = {"num_cells": [64, 64], "activation_class": torch.nn.Tanh}
logits = TensorDictModule(MLP(in_features=4, out_features=2, **sizes), in_keys=["observation"], out_keys=["logits"])
actor = ProbabilisticTensorDictSequential(
    logits,
    ProbabilisticTensorDictModule(
        in_keys=["logits"], out_keys=["action"], distribution_class=OneHotCategorical, return_log_prob=True
    ),
)
critic = ValueOperator(MLP(in_features=4, out_features=1, **sizes), in_keys=["observation"])
collector = Collector(env, actor, frames_per_batch=FRAMES, total_frames=FRAMES * ITERATIONS, device="cpu")
advantages = GAE(gamma=0.99, lmbda=0.95, value_network=critic, average_gae=True)
compute_loss = ClipPPOLoss(actor, critic)
buffer = TensorDictReplayBuffer(
    storage=LazyTensorStorage(FRAMES), sampler=SamplerWithoutReplacement(), batch_size=64, prefetch=None
)
optimizer = torch.optim.Adam(compute_loss.parameters(), lr=3e-4)


def update() -> None:
    losses = compute_loss(buffer.sample())
    (losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]).backward()
    optimizer.step()
    optimizer.zero_grad()


watch("simulation", TransformedEnv, "step_and_maybe_reset", "reset")
watch("inference", Collector, "rollout")
watch("backpropagation", GAE, "forward")
watch("backpropagation", sys.modules[__name__], "update")
for batch in collector:
    for _ in range(4):
        advantages(batch)
        buffer.extend(batch.reshape(-1))
        for _ in range(FRAMES // 64):
            update()
collector.shutdown()
print_learnt(actor, critic)
