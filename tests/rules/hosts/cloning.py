"""Behaviour cloning from files of frames with a DataLoader, in the style of PyTorch's tutorials."""

import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Frames(Dataset):
    def __init__(self, count: int) -> None:
        rng = np.random.default_rng(1)
        self.frames = rng.integers(0, 255, (count, 3, 32, 32), np.uint8)
        self.actions = rng.integers(0, 4, count)

    def __len__(self) -> int:
        return len(self.frames)

    def __getitem__(self, i: int):
        return self.frames[i].astype(np.float32) / 255, int(self.actions[i])


def main() -> None:
    torch.manual_seed(1)
    loader = DataLoader(Frames(1536), batch_size=64, shuffle=True, num_workers=2, persistent_workers=True)
    model = nn.Sequential(nn.Conv2d(3, 16, 5, 2), nn.ReLU(), nn.Conv2d(16, 32, 3, 2), nn.ReLU(), nn.Flatten(),
                          nn.Linear(32 * 36, 64), nn.ReLU(), nn.Linear(64, 4))
    optimizer = torch.optim.Adam(model.parameters())
    began = time.perf_counter()
    for _epoch in range(8):
        for frames, actions in loader:
            loss = nn.functional.cross_entropy(model(frames), actions)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"seconds {time.perf_counter() - began:.3f}")


if __name__ == "__main__":
    main()
