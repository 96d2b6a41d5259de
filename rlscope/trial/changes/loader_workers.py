"""Let processes of their own prepare the batches of data loaders."""

import os
from types import ModuleType
from typing import Any

from rlscope.trial.change import Function, Making

ALTERS = "random numbers that a data set draws"
IS_OF_WALL = True
#: More of them take the core of the process that trains.
_MOST = 4


def prepare(making: Making) -> None:
    """Give workers to loaders that have none, but not where each worker would give all of the data."""
    workers = max(1, min(_MOST, len(os.sched_getaffinity(0)) - 1))

    def of_torch(module: ModuleType) -> None:
        def with_workers(init: Function) -> Function:
            def made(self: Any, dataset: Any, *args: Any, **kwargs: Any) -> None:
                is_whole = isinstance(dataset, module.IterableDataset)
                # Behind the data set, their number is the fifth argument.
                if not is_whole and len(args) < 5 and not kwargs.get("num_workers"):
                    making.met("DataLoader", f"DataLoader(..., num_workers={workers}, persistent_workers=True)")
                    if making.is_on:
                        kwargs |= {"num_workers": workers, "persistent_workers": True}
                init(self, dataset, *args, **kwargs)

            return made

        making.replace(module.DataLoader, "__init__", with_workers)

    making.after_import("torch.utils.data.dataloader", of_torch)
