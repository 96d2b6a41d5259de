"""Two actors send short episodes through a queue to a learner, which sends weights back, by multiprocessing."""

import multiprocessing
import time

import gymnasium as gym
import numpy as np
import torch
from torch import nn

ACTORS, UPDATES, LENGTH = 2, 240, 32


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))


def act(policy: nn.Module, env: gym.Env, state: np.ndarray) -> tuple[dict, np.ndarray]:
    states, actions, rewards = [], [], []
    for _ in range(LENGTH):
        with torch.no_grad():
            action = int(torch.multinomial(torch.softmax(policy(torch.from_numpy(state)), -1), 1))
        states.append(state)
        state, reward, terminated, truncated, _ = env.step(action)
        actions.append(action)
        rewards.append(float(reward))
        if terminated or truncated:
            state, _ = env.reset()
    return {"states": np.stack(states), "actions": np.array(actions), "rewards": np.array(rewards, np.float32)}, state


def actor(seed: int, weights: multiprocessing.Queue, episodes: multiprocessing.Queue) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    env = gym.make("CartPole-v1")
    policy = network()
    state, _ = env.reset(seed=seed)
    while (received := weights.get()) is not None:
        policy.load_state_dict({name: torch.from_numpy(value) for name, value in received.items()})
        episode, state = act(policy, env, state)
        episodes.put(episode)


def main() -> None:
    context = multiprocessing.get_context("fork")
    torch.set_num_threads(1)
    policy = network()
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
    weights = [context.Queue() for _ in range(ACTORS)]
    episodes = context.Queue()
    processes = [context.Process(target=actor, args=(i, weights[i], episodes)) for i in range(ACTORS)]
    for process in processes:
        process.start()
    began = time.perf_counter()
    for _ in range(UPDATES):
        state = {name: value.numpy() for name, value in policy.state_dict().items()}
        for queue in weights:
            queue.put(state)
        received = [episodes.get() for _ in processes]
        states = torch.from_numpy(np.concatenate([episode["states"] for episode in received]))
        actions = torch.from_numpy(np.concatenate([episode["actions"] for episode in received]))
        rewards = torch.from_numpy(np.concatenate([episode["rewards"] for episode in received]))
        for _epoch in range(4):
            taken = torch.log_softmax(policy(states), -1).gather(1, actions[:, None])[:, 0]
            loss = -(taken * rewards).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"seconds {time.perf_counter() - began:.3f}")
    for queue in weights:
        queue.put(None)
    for process in processes:
        process.join()


if __name__ == "__main__":
    main()
