"""Train TD3 or DDPG on a walking robot with Stable-Baselines3 and the published hyper-parameters.

`--compile` puts each update (both losses, their gradients, Adam, the target networks) into one graph of torch.compile.
Nothing here knows about rlscope: the operations of a recorded run come from `rlscope record` itself.

    python stable_baselines3_off_policy.py --algo td3 --env Walker2d-v5 --stop-after 12000
"""

import torch
from command_line import chosen, make_parser
from environment import make, print_summary
from host_adam import HostAdam
from hyperparameters import Hyperparameters
from stable_baselines3 import TD3
from stable_baselines3.common.utils import update_learning_rate
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv
from stable_baselines3_loop import learn, off_policy_options

BETAS = (0.9, 0.999)

Tensors = tuple[torch.Tensor, ...]


def hidden_activation(algorithm: Hyperparameters) -> type[torch.nn.Module]:
    """Return what stands after each hidden layer."""
    if not algorithm.layer_norm:
        return torch.nn.ReLU
    (width,) = set(algorithm.widths)

    class LayerNormReLU(torch.nn.Sequential):
        """Layer normalisation, then ReLU."""

        def __init__(self) -> None:
            super().__init__(torch.nn.LayerNorm(width), torch.nn.ReLU())

    return LayerNormReLU


class OffPolicy(TD3):
    """TD3, or DDPG, which is TD3 with one critic and without its tricks; the actor may learn at a rate of its own."""

    def __init__(
        self, envs: VecEnv, algorithm: Hyperparameters, seed: int, device: str, is_adam_on_host: bool = False
    ) -> None:
        self.algorithm = algorithm
        super().__init__(
            "MlpPolicy",
            envs,
            gamma=algorithm.gamma,
            tau=algorithm.tau,
            policy_delay=algorithm.policy_delay,
            target_policy_noise=algorithm.target_noise,
            target_noise_clip=algorithm.target_noise_clip,
            policy_kwargs={
                "net_arch": list(algorithm.widths),
                "activation_fn": hidden_activation(algorithm),
                "n_critics": algorithm.critics,
                "optimizer_class": HostAdam if is_adam_on_host else torch.optim.Adam,
                "optimizer_kwargs": {"betas": BETAS, "eps": algorithm.adam_epsilon},
            },
            device=device,
            **off_policy_options(algorithm, envs, seed),
        )

    def _update_learning_rate(self, optimizers: list[torch.optim.Optimizer] | torch.optim.Optimizer) -> None:
        update_learning_rate(self.actor.optimizer, self.algorithm.actor_rate)
        update_learning_rate(self.critic.optimizer, self.algorithm.critic_rate)


class Adam:
    """Adam in tensor operations only: the steps of torch.optim are made of several graphs."""

    def __init__(self, network: torch.nn.Module, rate: float, epsilon: float) -> None:
        self.weights = list(network.parameters())
        self.means = [torch.zeros_like(weight) for weight in self.weights]
        self.squares = [torch.zeros_like(weight) for weight in self.weights]
        self.count = torch.zeros((), device=self.weights[0].device)
        self.rate, self.epsilon = rate, epsilon

    def minimize(self, loss: torch.Tensor) -> None:
        """Take one step against the gradient of `loss`."""
        gradients = torch.autograd.grad(loss, self.weights)
        with torch.no_grad():
            self.count += 1
            mean_bias, square_bias = (1 - beta**self.count for beta in BETAS)
            for weight, gradient, mean, square in zip(self.weights, gradients, self.means, self.squares, strict=True):
                mean.lerp_(gradient, 1 - BETAS[0])
                square.lerp_(gradient * gradient, 1 - BETAS[1])
                weight -= self.rate * (mean / mean_bias) / ((square / square_bias).sqrt() + self.epsilon)


class CompiledOffPolicy(OffPolicy):
    """The same updates, each one call of a compiled function."""

    def _setup_model(self) -> None:
        super()._setup_model()
        algorithm = self.algorithm
        self.actor_adam = Adam(self.actor, algorithm.actor_rate, algorithm.adam_epsilon)
        self.critic_adam = Adam(self.critic, algorithm.critic_rate, algorithm.adam_epsilon)
        torch._dynamo.config.trace_autograd_ops = True  # gradients are part of the graph
        self.compiled_update = torch.compile(self.update, fullgraph=True)

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        """Train as TD3 does, without its statistics."""
        for _ in range(gradient_steps):
            self._n_updates += 1
            batch = self.replay_buffer.sample(batch_size)
            tensors = (batch.observations, batch.actions, batch.rewards, batch.next_observations, batch.dones)
            self.compiled_update(tensors, self._n_updates % self.policy_delay == 0)

    def update(self, batch: Tensors, is_policy_updated: bool) -> None:
        """Make one update of the critics and, if it is time, of the actor and the target networks."""
        observations, actions, rewards, next_observations, dones = batch
        targets = self.targets(rewards, next_observations, dones)
        inputs = torch.cat([observations, actions], dim=1)
        losses = [torch.nn.functional.mse_loss(critic(inputs), targets) for critic in self.critic.q_networks]
        self.critic_adam.minimize(torch.stack(losses).sum())
        if is_policy_updated:
            first_critic = self.critic.q_networks[0]
            self.actor_adam.minimize(
                -first_critic(torch.cat([observations, self.actor.mu(observations)], dim=1)).mean()
            )
            with torch.no_grad():
                for network, target in ((self.actor, self.actor_target), (self.critic, self.critic_target)):
                    for weight, target_weight in zip(network.parameters(), target.parameters(), strict=True):
                        target_weight.lerp_(weight, self.tau)

    @torch.no_grad()
    def targets(self, rewards: torch.Tensor, next_observations: torch.Tensor, dones: torch.Tensor) -> torch.Tensor:
        """Return what the critics learn to expect."""
        actions = self.actor_target.mu(next_observations)
        noise = torch.randn_like(actions) * self.target_policy_noise
        actions = (actions + noise.clamp(-self.target_noise_clip, self.target_noise_clip)).clamp(-1, 1)
        inputs = torch.cat([next_observations, actions], dim=1)
        values = torch.cat([critic(inputs) for critic in self.critic_target.q_networks], dim=1)
        return rewards + (1 - dones) * self.gamma * values.min(dim=1, keepdim=True).values


def main() -> None:
    """Build the agent that the command line names, and train it."""
    parser = make_parser(__doc__)
    parser.add_argument("--compile", action="store_true", help="put each update under torch.compile")
    parser.add_argument("--adam", choices=("device", "host"), default="device", help="where an eager update works")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    algorithm = chosen(arguments)
    env = make(arguments.env, arguments.seed, algorithm)
    kind = CompiledOffPolicy if arguments.compile else OffPolicy
    agent = kind(DummyVecEnv([lambda: env]), algorithm, arguments.seed, arguments.device, arguments.adam == "host")
    learn(agent, arguments)
    print_summary(env)


if __name__ == "__main__":
    main()
