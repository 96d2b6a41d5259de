"""Gives random numbers the same seed in each run of a trial, where the program does not seed them itself.

Without it the runs of such a program do other work each time, and their numbers say nothing of a change.
"""

from __future__ import annotations

import functools
import os
import random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

    from rlscope.record.import_hooks import ImportHooks
    from rlscope.record.replacements import Replacements

SEED = 1
#: A process that was forked begins so far behind those that were forked before it.
_PER_FORK = 1_000_000


class _Seeds:
    """Numbers for generators that are made without a seed; other ones in each process that is forked."""

    def __init__(self) -> None:
        self._next = SEED
        self._forks = 0
        os.register_at_fork(before=self._forking, after_in_child=self._forked)

    def _forking(self) -> None:
        self._forks += 1

    def _forked(self) -> None:
        self._next += self._forks * _PER_FORK
        self._forks = 0

    def given(self, make: Any) -> Any:
        """Return a function that makes generators, with the next number where no seed is given."""

        def made(seed: Any = None) -> Any:
            if seed is None:
                seed = self._next
                self._next += 1
            return make(seed)

        return functools.wraps(make)(made)


def prepare(hooks: ImportHooks, replacements: Replacements) -> None:
    """Seed Python's, NumPy's and PyTorch's generators as soon as there are any, and those made without a seed."""
    seeds = _Seeds()

    def of_numpy(module: ModuleType) -> None:
        module.seed(SEED)
        replacements.replace(module, "default_rng", seeds.given)

    random.seed(SEED)
    hooks.after_import("numpy.random", of_numpy)
    hooks.after_import("torch", lambda torch: torch.manual_seed(SEED))
    hooks.after_import("gymnasium.utils.seeding", lambda module: replacements.replace(module, "np_random", seeds.given))
