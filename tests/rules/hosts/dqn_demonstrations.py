"""DQN that catches a ball on a small screen, with a replay buffer of arrays that begins with demonstrations."""

import time

import gymnasium as gym
import numpy as np
import torch
from torch import nn

SIDE, DEMONSTRATIONS, STEPS, BATCH = 12, 20_000, 1200, 64


class Catch(gym.Env):
    observation_space = gym.spaces.Box(0, 1, (SIDE, SIDE), np.float32)
    action_space = gym.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.ball, self.row, self.paddle = int(self.np_random.integers(SIDE)), 0, SIDE // 2
        return self.screen(), {}

    def screen(self) -> np.ndarray:
        screen = np.zeros((SIDE, SIDE), np.float32)
        screen[self.row, self.ball] = 1
        screen[-1, self.paddle] = 1
        return screen

    def step(self, action):
        self.paddle = min(SIDE - 1, max(0, self.paddle + int(action) - 1))
        self.row += 1
        done = self.row == SIDE - 1
        return self.screen(), float(done and self.paddle == self.ball), done, False, {}


class Replay:
    def __init__(self, capacity: int) -> None:
        self.states = np.zeros((capacity, SIDE, SIDE), np.float32)
        self.following = np.zeros((capacity, SIDE, SIDE), np.float32)
        self.actions, self.rewards, self.dones = (np.zeros(capacity, t) for t in (np.int64, np.float32, np.float32))
        self.size = 0

    def add(self, state, action, reward, following, done) -> None:
        i = self.size
        self.states[i], self.following[i] = state, following
        self.actions[i], self.rewards[i], self.dones[i] = action, reward, done
        self.size += 1

    def sample(self, count: int) -> list[torch.Tensor]:
        rows = np.random.randint(0, self.size, count)
        arrays = (self.states, self.actions, self.rewards, self.following, self.dones)
        return [torch.from_numpy(array[rows]) for array in arrays]


def network() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(SIDE * SIDE, 64), nn.ReLU(), nn.Linear(64, 3))


def main() -> None:
    torch.manual_seed(1)
    rng = np.random.default_rng(1)
    env = Catch()
    replay = Replay(DEMONSTRATIONS + STEPS)
    replay.states[:DEMONSTRATIONS] = rng.random((DEMONSTRATIONS, SIDE, SIDE), np.float32)
    replay.following[:DEMONSTRATIONS] = replay.states[:DEMONSTRATIONS]
    replay.size = DEMONSTRATIONS
    online, target = network(), network()
    target.load_state_dict(online.state_dict())
    optimizer = torch.optim.Adam(online.parameters(), lr=1e-3)
    began = time.perf_counter()
    state, _ = env.reset(seed=1)
    for step in range(STEPS):
        if rng.random() < 0.1:
            action = int(rng.integers(3))
        else:
            with torch.no_grad():
                action = int(online(torch.from_numpy(state)[None]).argmax())
        following, reward, terminated, truncated, _ = env.step(action)
        replay.add(state, action, reward, following, terminated)
        state = following
        if terminated or truncated:
            state, _ = env.reset()
        states, actions, rewards, nexts, dones = replay.sample(BATCH)
        with torch.no_grad():
            wanted = rewards + 0.99 * (1 - dones) * target(nexts).max(1).values
        loss = nn.functional.mse_loss(online(states).gather(1, actions[:, None])[:, 0], wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 200 == 0:
            target.load_state_dict(online.state_dict())
    print(f"seconds {time.perf_counter() - began:.3f}")


if __name__ == "__main__":
    main()
