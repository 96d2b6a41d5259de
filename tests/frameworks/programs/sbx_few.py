"""A few iterations of off-policy and on-policy training with SBX; prints what it did as JSON."""

import json

import numpy as np
from sbx import PPO, TD3
from stable_baselines3.common.noise import NormalActionNoise

STEPS, WARM_UP, ITERATIONS = 20, 40, 4
off_policy = TD3(
    "MlpPolicy",
    "Pendulum-v1",
    train_freq=(STEPS, "step"),
    gradient_steps=STEPS,
    learning_starts=WARM_UP,
    batch_size=32,
    action_noise=NormalActionNoise(np.zeros(1), np.full(1, 0.1)),
)
off_policy.learn(WARM_UP + STEPS * ITERATIONS)
on_policy = PPO("MlpPolicy", "Pendulum-v1", n_steps=64, batch_size=32, n_epochs=2)
on_policy.learn(128)
print(
    json.dumps(
        {
            "actions": STEPS * ITERATIONS,
            "off_policy_updates": ITERATIONS,
            "rollout_steps": 128,
            "iterations": (WARM_UP // STEPS + ITERATIONS) + 2,
        }
    )
)
