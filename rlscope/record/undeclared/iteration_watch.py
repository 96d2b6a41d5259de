"""Says early that a limit counts iterations which nothing reports: a job may take hours before it ends."""

import contextlib
import os
import sys
import time
from types import ModuleType
from typing import Any

from rlscope import _native
from rlscope.errors import RLScopeError
from rlscope.record.config import HOW_TO_REPORT

#: After so many steps of the environment, or of optimizers, most loops have completed an iteration.
STEPS = 1000
#: PyTorch's updates count themselves, and may come late: so long after the first step of the environment.
SECONDS = 10


class IterationWatch:
    """Counts what a training loop does until the first iteration is reported."""

    def __init__(self, options: str) -> None:
        """`options` are those that count iterations, as the user gave them."""
        self._options = options
        self._optimizer_steps = 0
        self._simulations = 1
        self._began_ns = 0
        self._handle: Any = None
        self._is_over = False
        _native.after_simulations(1, self._look)

    def follow_optimizers(self, torch: ModuleType) -> None:
        """Count the steps of PyTorch's optimizers too; `torch` has just been imported."""
        if not self._is_over:
            optimizer = sys.modules["torch.optim.optimizer"]  # torch.optim itself has no such attribute
            self._handle = optimizer.register_optimizer_step_post_hook(self._count)

    def end(self) -> None:
        """Something was reported, or the recording is over. It may be called again."""
        if not self._is_over:
            self._is_over = True
            _native.after_simulations(0, None)
            if self._handle is not None:
                self._handle.remove()

    def _look(self) -> None:
        """Warn where it is time, or look again a little later: after an eighth more steps."""
        if self._is_over:
            return
        now_ns = time.monotonic_ns()
        self._began_ns = self._began_ns or now_ns
        if now_ns - self._began_ns >= SECONDS * 1_000_000_000:
            self._warn(f"{SECONDS} s of steps of the environment")
        elif self._simulations == STEPS and self._handle is None:
            self._warn(f"{STEPS:,} steps of the environment")
        else:
            left = STEPS - self._simulations
            more = max(1, self._simulations // 8)
            more = min(more, left) if left > 0 else more
            self._simulations += more
            _native.after_simulations(more, self._look)

    def _count(self, *_: Any) -> None:
        self._optimizer_steps += 1
        if self._optimizer_steps == STEPS:
            self._warn(f"{STEPS:,} steps of optimizers")

    def _warn(self, made: str) -> None:
        if self._is_over:
            return
        self.end()
        with contextlib.suppress(OSError, ValueError):  # the program may have closed its stderr
            print(
                f"rlscope: no iteration was reported in {made}, and {self._options} counts iterations: {HOW_TO_REPORT}",
                file=sys.stderr,
                flush=True,
            )


def note_delay(directory: str, wanted: int, seen: int) -> None:
    """Say in the trace why the command itself is not part of it, if this is it: it has reported too few iterations."""
    from rlscope.trace.manifest import note_unrecorded, read_manifest

    try:
        if read_manifest(directory).get("main_pid") != os.getpid():
            return
        note_unrecorded(
            directory,
            f"recording was to start after {wanted} iteration{'s' * (wanted > 1)}, but {seen} "
            f"{'was' if seen == 1 else 'were'} reported; {HOW_TO_REPORT}",
        )
    except (OSError, RLScopeError):
        return
