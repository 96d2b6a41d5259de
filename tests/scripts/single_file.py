"""Train in one file with PyTorch alone, as CleanRL's scripts do; a stopwatch runs around the stages that can be seen.

These are simulation, calls of networks and distributions for acting and for targets, and each update from its first
call with gradients.
The argument is ppo (no gradients while acting), dqn (gradients on while acting, a target network without), sac (one
method of the actor serves acting and learning, two optimizers take turns), functional (gradients come from functions,
as in MAML and TRPO, and no optimizer takes a step) or closure (an optimizer calls what acts and learns, as Lightning's
does). Prints the stopwatch's nanoseconds as JSON.
"""

import json
import sys
import time
from collections import Counter
from contextlib import contextmanager, nullcontext

import gymnasium
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical, Normal

NANOSECONDS = Counter()


@contextmanager
def watch(stage):
    start = time.perf_counter_ns()
    yield
    NANOSECONDS[stage] += time.perf_counter_ns() - start


def infer(network, inputs):
    with watch("inference"):
        return network(inputs)


def learn(network, inputs):
    return network(inputs)


def watch_acting(call):
    """What a distribution does of what a network computed is what the network was called for."""
    return watch("inference") if call is infer else nullcontext()


def network(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor, self.critic = network(4, 2), network(4, 1)

    def get_action_and_value(self, call, observations, actions=None):
        logits = call(self.actor, observations)
        with watch_acting(call):
            choices = Categorical(logits=logits)
            actions = choices.sample() if actions is None else actions
            log_probabilities, entropy = choices.log_prob(actions), choices.entropy()
        return actions, log_probabilities, entropy, call(self.critic, observations)


def warm_up():
    """What PyTorch does once only, at the first use, is not what is compared."""
    spare = network(4, 2)
    optimizer = torch.optim.Adam(spare.parameters())
    for kind in (lambda output: Categorical(logits=output), lambda output: Normal(output, 1.0)):
        choices = kind(spare(torch.zeros(1, 4)))
        choices.log_prob(choices.sample()).sum().backward()
        optimizer.step()


def ppo():
    envs = gymnasium.make_vec("CartPole-v1", num_envs=4, vectorization_mode="sync")
    agent = Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3)
    with watch("simulation"):
        observations, _ = envs.reset(seed=1)
    for _ in range(12):
        batch = []
        for _ in range(64):
            with torch.no_grad():
                observed = torch.as_tensor(observations)
                actions, log_probabilities, _, values = agent.get_action_and_value(infer, observed)
            chosen = actions.numpy()
            with watch("simulation"):
                observations, rewards, _, _, _ = envs.step(chosen)
            batch.append((observed, actions, log_probabilities, values.flatten() + torch.as_tensor(rewards)))
        observed, actions, before, returns = (torch.cat(column).float() for column in zip(*batch, strict=True))
        for _ in range(20):
            with watch("backpropagation"):
                _, now, entropy, values = agent.get_action_and_value(learn, observed, actions)
                gain = ((now - before).exp().clamp(0.8, 1.2) * (returns - values.detach().flatten())).mean()
                loss = (values.flatten() - returns).pow(2).mean() - gain - 0.01 * entropy.mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()


def dqn():
    env = gymnasium.make("CartPole-v1")
    q_network, target_network = network(4, 2), network(4, 2)
    optimizer = torch.optim.Adam(q_network.parameters(), lr=1e-3)
    observations, rewards, actions = np.zeros((4000, 4), np.float32), np.zeros(4000, np.float32), np.zeros(4000, int)
    with watch("simulation"):
        observation, _ = env.reset(seed=1)
    for step in range(1500):
        action = int(infer(q_network, torch.as_tensor(observation)).argmax())
        observations[step], actions[step] = observation, action
        with watch("simulation"):
            observation, rewards[step], terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            with watch("simulation"):
                observation, _ = env.reset()
        if step > 100:
            chosen = np.random.randint(0, step, 64)
            with torch.no_grad():
                best = infer(target_network, torch.as_tensor(observations[chosen + 1])).max(dim=1).values
                wanted = torch.as_tensor(rewards[chosen]) + 0.99 * best
            with watch("backpropagation"):
                values = q_network(torch.as_tensor(observations[chosen]))
                values = values.gather(1, torch.as_tensor(actions[chosen])[:, None]).squeeze()
                loss = nn.functional.mse_loss(values, wanted)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = network(3, 2)

    def get_action(self, call, observation):
        mean, spread = call(self.body, observation).chunk(2, dim=-1)
        spread = nn.functional.softplus(spread) + 0.01
        with watch_acting(call):
            choices = Normal(mean, spread)
            action = choices.rsample()
            log_probability = choices.log_prob(action)
        return action.tanh() * 2, log_probability


def sac():
    env = gymnasium.make("Pendulum-v1")
    actor, critic = Actor(), network(4, 1)
    actor_optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
    critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
    observations, rewards, actions = (np.zeros((2000, width), np.float32) for width in (3, 1, 1))
    with watch("simulation"):
        observation, _ = env.reset(seed=1)
    for step in range(600):
        action = actor.get_action(infer, torch.as_tensor(observation))[0].detach().numpy()
        observations[step], actions[step] = observation, action
        with watch("simulation"):
            observation, rewards[step], _, _, _ = env.step(action)
        if step > 50:
            chosen = np.random.randint(0, step, 64)
            observed, taken = torch.as_tensor(observations[chosen]), torch.as_tensor(actions[chosen])
            with torch.no_grad():
                later = torch.as_tensor(observations[chosen + 1])
                proposed = actor.get_action(infer, later)[0]
                wanted = torch.as_tensor(rewards[chosen]) + 0.9 * infer(critic, torch.cat((later, proposed), dim=1))
            with watch("backpropagation"):
                critic_loss = nn.functional.mse_loss(critic(torch.cat((observed, taken), dim=1)), wanted)
                critic_optimizer.zero_grad()
                critic_loss.backward()
                critic_optimizer.step()
            with watch("backpropagation"):
                proposed, log_probability = actor.get_action(learn, observed)
                actor_loss = (0.1 * log_probability - critic(torch.cat((observed, proposed), dim=1))).mean()
                actor_optimizer.zero_grad()
                actor_loss.backward()
                actor_optimizer.step()


def functional():
    policy, observations = network(4, 2), torch.randn(4096, 4)
    torch.func.grad(torch.sum)(observations)  # imports for seconds, once

    def loss_of(parameters):
        return torch.func.functional_call(policy, parameters, (observations,)).pow(2).mean()

    for _ in range(60):
        with torch.no_grad():
            infer(policy, observations)
        parameters = dict(policy.named_parameters())
        with watch("backpropagation"):
            loss = learn(policy, observations).pow(2).mean()
            gradients = dict(zip(parameters, torch.autograd.grad(loss, list(parameters.values())), strict=True))
        change(parameters, gradients)
        with watch("backpropagation"):
            gradients = torch.func.grad(loss_of)(parameters)
        change(parameters, gradients)


def closure():
    policy, observations = network(4, 2), torch.randn(8192, 4)
    optimizer = torch.optim.SGD(policy.parameters())  # short: what it does itself is beside the stopwatch
    env = gymnasium.make("CartPole-v1")
    env.reset(seed=1)

    def act_and_learn():
        for _ in range(10):
            with torch.no_grad():
                infer(policy, observations)
            with watch("simulation"):
                _, _, is_over, _, _ = env.step(0)
            if is_over:
                with watch("simulation"):
                    env.reset()
        with watch("backpropagation"):
            optimizer.zero_grad()
            loss = learn(policy, observations).pow(2).mean()
            loss.backward()
        return loss

    for _ in range(40):
        optimizer.step(act_and_learn)


def change(parameters, gradients):
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter -= 0.01 * gradients[name]


torch.manual_seed(1)
torch.set_num_threads(1)
warm_up()
{"ppo": ppo, "dqn": dqn, "sac": sac, "functional": functional, "closure": closure}[sys.argv[1]]()
print(json.dumps(NANOSECONDS))
