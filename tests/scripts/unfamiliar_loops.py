"""Train with PyTorch alone in loops of which nobody knows the environment; a stopwatch runs around what can be seen.

The argument names one of the loops below. Prints the stopwatch's nanoseconds as JSON: of `inference`, network calls
that no backward follows, of `backpropagation`, from the update's first network call to the end of the optimizer's
step, and of `between`, all else in the loop.
"""

import json
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager

import gymnasium
import torch
from torch import nn
from torch.distributions import Categorical, Normal

NANOSECONDS = Counter()


@contextmanager
def watch(stage):
    start = time.perf_counter_ns()
    yield
    NANOSECONDS[stage] += time.perf_counter_ns() - start


def act(network, observations):
    with watch("inference"):
        return network(observations)


class World:
    """An environment of a kind that no library knows."""

    def step(self, _action):
        with watch("between"):
            time.sleep(0.002)
        return torch.randn(32, 64)


class NoisyWorld:
    """An environment that draws its noise as policies draw their actions."""

    def step(self, _action):
        with watch("between"):
            noise = Normal(torch.zeros(512, 512), 1.0)
            return noise.sample()[:32, :64]


def draw(network, observations):
    """Draws many actions for each observation: that takes longer than the network's call."""
    with watch("inference"):
        return Categorical(logits=network(observations)).sample((200,))


def new_learner():
    network = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 64))
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3)
    loss = act(network, torch.zeros(32, 64)).sum()
    with watch("backpropagation"):
        loss.backward()
        optimizer.step()
    return network, optimizer


def update(network, optimizer, batch):
    with watch("backpropagation"):
        loss = (network(batch) - batch).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()


def unknown_environment():
    """Acts without gradients."""
    network, optimizer = new_learner()
    world, observations = World(), torch.zeros(32, 64)
    for _ in range(8):
        batch = []
        for _ in range(20):
            batch.append(observations)
            with torch.no_grad():
                observations = world.step(act(network, observations))
        for _ in range(10):
            update(network, optimizer, torch.cat(batch))


def gradients_left_on():
    """Acts with gradients on, which nobody uses, once for each update."""
    network, optimizer = new_learner()
    world, observations = World(), torch.zeros(32, 64)
    for _ in range(100):
        action = act(network, observations).argmax(dim=1)
        observations = world.step(action)
        update(network, optimizer, observations.repeat(20, 1))


def drawn_actions():
    """Acts by drawing from a distribution, without gradients and with them in turn."""
    network, optimizer = new_learner()
    world, observations = NoisyWorld(), torch.zeros(32, 64)
    for turn in range(8):
        for _ in range(20):
            with torch.set_grad_enabled(turn % 2 == 1):
                action = draw(network, observations)
            observations = world.step(action)
        for _ in range(10):
            update(network, optimizer, observations.repeat(20, 1))


def validation():
    """A model is fitted, validated after each epoch without gradients and at the end with them, and saved."""
    network, optimizer = new_learner()
    data = torch.randn(4096, 64)
    for _ in range(10):
        for batch in data.split(512):
            update(network, optimizer, batch)
        with torch.no_grad():
            act(network, data)
        with watch("between"):
            time.sleep(0.05)
    act(network, data)
    with watch("between"):
        time.sleep(1)


def play(network, steps):
    """A rollout in a known environment, with gradients on, that ends with a network call."""
    env = gymnasium.make("CartPole-v1")
    env.reset(seed=1)
    for step in range(steps):
        action = act(network, torch.zeros(32, 64))
        if step == steps - 1:
            return action
        if any(env.step(0)[2:4]):
            env.reset()


def rollout_before_training():
    """The rollout, Python that has nothing to do with it, then the update."""
    network, optimizer = new_learner()
    play(network, 200)
    with watch("between"):
        end_s = time.monotonic() + 1
        while time.monotonic() < end_s:
            sum(range(1000))
    for _ in range(50):
        update(network, optimizer, torch.randn(512, 64))


def thread_that_acts():
    """The rollout is made by a thread, which ends before the update."""
    network, optimizer = new_learner()
    thread = threading.Thread(target=play, args=(network, 200))
    thread.start()
    thread.join()
    for _ in range(200):
        update(network, optimizer, torch.randn(512, 64))


def generate(network, tokens):
    for _ in range(40):
        tokens = act(network, tokens)
        with watch("between"):
            tokens = tokens.argmax(dim=1, keepdim=True).expand(32, 64) / 64
            time.sleep(0.001)
    return tokens


def judge():
    with watch("between"):
        for _ in range(200):
            sum(range(1000))


def generation():
    """Tokens are generated by many calls without gradients, judged in Python, and learnt from."""
    network, optimizer = new_learner()
    for _ in range(8):
        with torch.no_grad():
            tokens = generate(network, torch.randn(32, 64))
        judge()
        for _ in range(5):
            update(network, optimizer, tokens.repeat(16, 1))


def generation_with_gradients():
    """As above with gradients on, which nobody uses."""
    network, optimizer = new_learner()
    for _ in range(8):
        tokens = generate(network, torch.randn(32, 64)).detach()
        judge()
        for _ in range(5):
            update(network, optimizer, tokens.repeat(16, 1))


def rollout_that_is_learnt_from():
    """Gradients of all calls of the rollout are used, as in REINFORCE."""
    network, optimizer = new_learner()
    world = World()
    for _ in range(8):
        observations, outputs = torch.zeros(32, 64), []
        for _ in range(20):
            outputs.append(act(network, observations))
            observations = world.step(outputs[-1])
        with watch("backpropagation"):
            optimizer.zero_grad()
            torch.stack(outputs).pow(2).mean().backward()
            optimizer.step()


torch.manual_seed(1)
torch.set_num_threads(1)
globals()[sys.argv[1]]()
print(json.dumps(NANOSECONDS))
