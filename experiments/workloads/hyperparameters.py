"""This file holds the published hyper-parameters of TD3 and DDPG on a walking robot, for every framework compared."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Hyperparameters:
    """This is what one of the two algorithms is trained with. Both minimise the mean squared error of their critics
    with Adam.

    Attributes:
        steps: Steps of the environment in one iteration of the training loop.
        updates: Gradient steps in one iteration, after the steps.
        warm_up: Timesteps with random actions before the first update.
        batch_size: Transitions in one update.
        buffer_size: Transitions in the replay buffer.
        widths: Hidden layers of the actor and of each critic, each followed by a ReLU.
        layer_norm: Whether layer normalisation stands between a hidden layer and its ReLU.
        critics: Critics that are trained; the losses of several are added, the targets are the least of theirs.
        actor_rate: Adam's rate for the actor.
        critic_rate: Adam's rate for the critics.
        adam_epsilon: Adam's epsilon for both.
        gamma: Discount of future rewards.
        tau: Share of the weights that a target network takes over in one update of the targets.
        policy_delay: Updates of the critics for one of the actor and the targets.
        exploration_noise: Standard deviation of the noise on actions, which lie in [-1, 1].
        target_noise: Standard deviation of the noise on the target policy's actions.
        target_noise_clip: Largest noise on the target policy's actions.
        has_time_feature: Whether the observation ends with the share of the episode that has passed.
        is_normalized: Whether observations and returns are normalised.
    """

    steps: int
    updates: int
    warm_up: int
    batch_size: int
    buffer_size: int
    widths: tuple[int, ...]
    layer_norm: bool
    critics: int
    actor_rate: float
    critic_rate: float
    adam_epsilon: float
    gamma: float
    tau: float
    policy_delay: int
    exploration_noise: float
    target_noise: float
    target_noise_clip: float
    has_time_feature: bool
    is_normalized: bool


TD3 = Hyperparameters(
    steps=1000,
    updates=1000,
    warm_up=10_000,
    batch_size=100,
    buffer_size=1_000_000,
    widths=(400, 300),
    layer_norm=False,
    critics=2,
    actor_rate=1e-3,
    critic_rate=1e-3,
    adam_epsilon=1e-8,
    gamma=0.99,
    tau=0.005,
    policy_delay=2,
    exploration_noise=0.1,
    target_noise=0.2,
    target_noise_clip=0.5,
    has_time_feature=True,
    is_normalized=False,
)

DDPG = Hyperparameters(
    steps=100,
    updates=50,
    warm_up=100,
    batch_size=128,
    buffer_size=1_000_000,
    widths=(64, 64),
    layer_norm=True,
    critics=1,
    actor_rate=1e-4,
    critic_rate=1e-3,
    adam_epsilon=1e-8,
    gamma=0.95,
    tau=0.001,
    policy_delay=1,
    exploration_noise=0.15,
    target_noise=0.0,
    target_noise_clip=0.0,
    has_time_feature=False,
    is_normalized=True,
)

ALGORITHMS = {"td3": TD3, "ddpg": DDPG}
