"""PPO and DQN of Stable-Baselines3 with callbacks of the script's own, checkpoints, an evaluation and logs."""

import sys
from pathlib import Path

import gymnasium
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.callbacks import BaseCallback, CheckpointCallback, EvalCallback


class Ask(BaseCallback):
    """Works by itself, and asks the policy, which is inference, at every 20th step."""

    def _on_step(self) -> bool:
        sum(range(2000))
        if self.n_calls % 20 == 0:
            self.model.predict(self.training_env.reset()[0])
        return True


class Named(CheckpointCallback):
    """Saves as its base does."""

    def _on_step(self) -> bool:
        return super()._on_step()


directory = Path(sys.argv[1])
evaluation = EvalCallback(gymnasium.make("CartPole-v1"), eval_freq=100, n_eval_episodes=1, verbose=0)
checkpoints = Named(50, str(directory))
agent = PPO("MlpPolicy", "CartPole-v1", n_steps=64, batch_size=64, n_epochs=1, device="cpu")
agent.learn(128, callback=[Ask(), checkpoints, evaluation])
# A function instead of a callback; and here logs are written in the middle of a rollout.
agent = DQN("MlpPolicy", "CartPole-v1", learning_starts=50, device="cpu", verbose=1)
agent.learn(200, callback=lambda found, _: sum(range(2000)) > 0, log_interval=1)
# And none.
agent.learn(50)
agent.save(directory / "last")
