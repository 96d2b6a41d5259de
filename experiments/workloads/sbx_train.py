"""Train TD3 or DDPG on a walking robot with SBX, Stable-Baselines3 on JAX, and the published hyper-parameters.

Each update is one call of a function that JAX compiled. SBX itself would put all updates of an iteration into one call.
Nothing here knows about rlscope: the operations of a recorded run come from `rlscope record` itself.

    python sbx_train.py --algo td3 --env Walker2d-v5 --stop-after 12000
"""

import jax
import torch
from command_line import chosen, make_parser
from environment import make, print_summary
from hyperparameters import Hyperparameters
from jax_update import Batch, make_states, update
from sbx import TD3
from stable_baselines3.common.vec_env import DummyVecEnv
from stable_baselines3_loop import learn, off_policy_options


class OffPolicy(TD3):
    """TD3, or DDPG, which is TD3 with one critic and without its tricks: SBX's loop, acting and buffer, our update."""

    def __init__(self, envs: DummyVecEnv, algorithm: Hyperparameters, seed: int) -> None:
        self.algorithm = algorithm
        super().__init__("MlpPolicy", envs, **off_policy_options(algorithm, envs, seed))

    def _setup_model(self) -> None:
        super()._setup_model()
        sizes = self.observation_space.shape[0], self.action_space.shape[0]
        self.key, key = jax.random.split(self.key)
        self.policy.actor_state, self.policy.qf_state = make_states(self.algorithm, *sizes, key)

    def train(self, gradient_steps: int, batch_size: int) -> None:
        """Make one compiled call per update."""
        policy = self.policy
        for _ in range(gradient_steps):
            self._n_updates += 1
            data = self.replay_buffer.sample(batch_size)
            batch = Batch(
                observation=data.observations.numpy(),
                action=data.actions.numpy(),
                reward=data.rewards.numpy()[:, 0],
                next_observation=data.next_observations.numpy(),
                done=data.dones.numpy()[:, 0],
            )
            self.key, key = jax.random.split(self.key)
            is_policy_updated = self._n_updates % self.algorithm.policy_delay == 0
            policy.actor_state, policy.qf_state = update(
                self.algorithm, policy.actor_state, policy.qf_state, batch, key, is_policy_updated
            )
        # Calls return before they are done: without waiting here, the next action would wait for the updates.
        jax.block_until_ready((policy.actor_state, policy.qf_state))


def main() -> None:
    """Build the agent that the command line names, and train it."""
    arguments = make_parser(__doc__).parse_args()
    algorithm = chosen(arguments)
    torch.set_num_threads(1)  # the buffer hands out PyTorch's tensors
    jax.config.update("jax_platforms", arguments.device)
    env = make(arguments.env, arguments.seed, algorithm)
    agent = OffPolicy(DummyVecEnv([lambda: env]), algorithm, arguments.seed)
    learn(agent, arguments)
    print_summary(env)


if __name__ == "__main__":
    main()
