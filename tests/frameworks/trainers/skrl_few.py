"""skrl's PPO or DQN on CartPole, as its examples have them, for a few hundred timesteps."""

import sys

import gymnasium
import torch
from skrl.agents.torch.dqn import DQN, DQN_CFG
from skrl.agents.torch.ppo import PPO, PPO_CFG
from skrl.envs.wrappers.torch import wrap_env
from skrl.envs.wrappers.torch.gymnasium_envs import GymnasiumWrapper
from skrl.memories.torch import RandomMemory
from skrl.trainers.torch import SequentialTrainer, SequentialTrainerCfg
from skrl.utils import set_seed
from skrl.utils.model_instantiators.torch import categorical_model, deterministic_model
from watch import print_learnt, watch

torch.set_num_threads(1)
set_seed(7)
env = wrap_env(gymnasium.make_vec("CartPole-v1", num_envs=4, vectorization_mode="sync"))
spaces = {
    "observation_space": env.observation_space, "state_space": env.state_space, "action_space": env.action_space,
    "device": "cpu",
}  # fmt: skip
network = [{"name": "net", "input": "OBSERVATIONS", "layers": [64, 64], "activations": "relu"}]
if sys.argv[1] == "PPO":
    kind, settings, size, timesteps = PPO, PPO_CFG(rollouts=64, learning_epochs=4, mini_batches=4), 64, 512
    models = {
        "policy": categorical_model(**spaces, network=network, output="ACTIONS"),
        "value": deterministic_model(**spaces, network=network, output="ONE"),
    }
else:
    kind, settings, size, timesteps = DQN, DQN_CFG(learning_starts=50), 1000, 900
    models = {
        name: deterministic_model(**spaces, network=network, output="ACTIONS")
        for name in ("q_network", "target_q_network")
    }
settings.experiment.write_interval, settings.experiment.checkpoint_interval = 1000, 5000
agent = kind(models=models, memory=RandomMemory(memory_size=size, num_envs=4, device="cpu"), cfg=settings, **spaces)
trainer = SequentialTrainer(
    cfg=SequentialTrainerCfg(timesteps=timesteps, headless=True, disable_progressbar=True), env=env, agents=agent
)
watch("simulation", GymnasiumWrapper, "step", "reset")
watch("inference", kind, "act", "record_transition")
watch("backpropagation", kind, "update", "enable_models_training_mode")
trainer.train()
print_learnt(*models.values())
