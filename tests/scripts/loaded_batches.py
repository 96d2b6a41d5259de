"""Gets batches from a DataLoader with two workers and prints, as JSON, the seconds that passed in that.

With the argument `pinned` a thread of this process reads what the workers send, as where memory is pinned for a device:
this machine need not have one, and nothing that is sent can be pinned.
"""

import gc
import json
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset

ITEM_S = 0.01


class Slow(Dataset[list[float]]):
    """Whose items take long to make."""

    def __len__(self) -> int:
        return 40

    def __getitem__(self, index: int) -> list[float]:
        time.sleep(ITEM_S)
        return [float(index)]


def as_it_is(batch: list[list[float]]) -> list[list[float]]:
    return batch


def main(is_pinned: bool) -> None:
    if is_pinned:
        torch.accelerator.is_available = lambda: True
        torch.accelerator.current_accelerator = lambda check_available=False: torch.device("cuda")
        torch.accelerator.current_device_index = lambda: 0
        torch.accelerator.set_device_index = lambda device: None
    loader = DataLoader(Slow(), batch_size=2, num_workers=2, collate_fn=as_it_is, pin_memory=is_pinned)
    gc.disable()  # a collection of what PyTorch has made takes as long as ten batches
    batches = iter(loader)
    count, start = 1, time.perf_counter()
    next(batches)
    for _ in batches:
        count += 1
    print(json.dumps({"batches": count, "seconds": time.perf_counter() - start}))


if __name__ == "__main__":
    main(sys.argv[1:] == ["pinned"])
