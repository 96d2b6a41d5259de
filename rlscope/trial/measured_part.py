"""The measured part of a training: from one number of updates to another, without what comes before and behind it.

An update is a step of an optimizer; where a program makes no optimizer, steps of environments are counted. The first
run of an unchanged program finds both numbers, as `part_search.py` says.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import time

from rlscope.record.declared.blocks import follow_method
from rlscope.record.replacements import Replacements
from rlscope.trial.changes.threads import threads_now
from rlscope.trial.clock import descendants, kill_all, processor_ns
from rlscope.trial.part_search import PartSearch
from rlscope.trial.plan import STEPS, UPDATES, Plan

TYPE_CHECKING = False  # as `typing` has it, whose import takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    from rlscope.record.import_hooks import ImportHooks

    Function = Callable[..., Any]

#: Classes of which a step is one of an environment, by their modules.
ENVIRONMENTS = {
    "gymnasium.core": "Env",
    "gymnasium.vector.vector_env": "VectorEnv",
    "stable_baselines3.common.vec_env.base_vec_env": "VecEnv",
}
#: Of so many losses, or rewards where there is none, the bits are compared.
NUMBERS = 256


class MeasuredPart:
    """Counts in one process, and ends the program where the plan says so."""

    def __init__(
        self,
        plan: Plan,
        first: int,
        say: Callable[..., None],
        look: Callable[[], None],
        evaluations: Callable[[], int],
    ) -> None:
        self._plan = plan
        self._first = first
        self._say = say
        self._look = look
        self._evaluations = evaluations
        self._is_forked = False
        self._updates = 0
        self._steps = 0
        self._stepping = threading.local()
        self._optimizers: list[Any] = []
        self._losses: list[Any] = []
        self._rewards: list[float] = []
        self._begun: tuple[int, int] | None = None
        self._processes = 1
        self._search = PartSearch()
        self._has_ended = False
        self._lock = threading.Lock()
        os.register_at_fork(after_in_child=self._in_fork)

    def prepare(self, hooks: ImportHooks) -> None:
        """Count what the program will import."""
        replacements = Replacements()

        def follow(owner: str, module: ModuleType) -> None:
            follow_method(getattr(module, owner), "step", self._stepped, replacements)

        for name, owner in ENVIRONMENTS.items():
            hooks.after_import(name, functools.partial(follow, owner))
        hooks.after_import("torch.optim.optimizer", lambda module: self._of_optimizers(module, replacements))
        hooks.after_import("torch", lambda module: self._of_losses(module, replacements))

    def _in_fork(self) -> None:
        """Begin anew in a process that was forked: it has its own numbers, and its steps are not the training's."""
        self._is_forked = True
        self._updates = self._steps = 0
        self._begun = None
        self._search = PartSearch()
        self._lock = threading.Lock()
        for each in (self._optimizers, self._losses, self._rewards):
            each.clear()

    def _of_optimizers(self, module: ModuleType, replacements: Replacements) -> None:
        def noted(init: Function) -> Function:
            def made(optimizer: Any, *args: Any, **kwargs: Any) -> None:
                init(optimizer, *args, **kwargs)
                self._optimizers.append(optimizer)

            return made

        replacements.replace(module.Optimizer, "__init__", noted)
        module.register_optimizer_step_post_hook(lambda *_: self._update())

    def _of_losses(self, torch: ModuleType, replacements: Replacements) -> None:
        def noted(backward: Function) -> Function:
            def called(tensor: Any, *args: Any, **kwargs: Any) -> Any:
                self._begin_with_first()
                if len(self._losses) < NUMBERS and tensor.numel() == 1:
                    self._losses.append(tensor.detach())  # read at the end: on a GPU that would be a wait
                return backward(tensor, *args, **kwargs)

            return called

        replacements.replace(torch.Tensor, "backward", noted)

    def _stepped(self, step: Function) -> Function:
        """Return a step of environments that is counted, unless it is part of another one."""

        def counted(environment: Any, *args: Any, **kwargs: Any) -> Any:
            depth = getattr(self._stepping, "depth", 0)
            if depth == 0 and not self._is_worker():
                self._begin_with_first()
                if not self._plan.end:
                    self._search.note_step()
            self._stepping.depth = depth + 1
            try:
                result = step(environment, *args, **kwargs)
            finally:
                self._stepping.depth = depth
            if depth == 0 and not self._is_worker():
                self._step(result)
            return result

        return counted

    def _is_worker(self) -> bool:
        """Return whether another process asks this one for steps."""
        started = sys.modules.get("multiprocessing.process")
        return self._is_forked or (started is not None and started.parent_process() is not None)

    def _step(self, result: Any) -> None:
        self._steps += 1
        if len(self._rewards) < NUMBERS and isinstance(result, tuple) and len(result) > 1:
            self._rewards.append(float(sum(result[1]) if hasattr(result[1], "__len__") else result[1]))
        if self._plan.unit == STEPS or (not self._plan.unit and not self._optimizers):
            self._counted(self._steps)

    def _update(self) -> None:
        self._updates += 1
        if self._plan.unit in (UPDATES, ""):
            self._counted(self._updates)

    def _counted(self, number: int) -> None:
        if self._plan.end:
            if number == self._plan.begin:
                self._begin()
            elif number == self._plan.end:
                self._end()
        else:
            self._look_for_end(number)

    def _begin_with_first(self) -> None:
        if self._begun is None and (self._plan.begin == 0 or not self._plan.end):
            self._begin()

    def _begin(self) -> None:
        self._processes = 1 + len(descendants(self._first))
        self._begun = processor_ns(self._first), time.perf_counter_ns()
        if not self._plan.end:
            self._search.begin(self._evaluations())

    def _look_for_end(self, number: int) -> None:
        """Take a mark in the first run, and end it where all of a measured part has been seen."""
        if self._begun is None:
            self._begin()
        self._search.mark(number, self._evaluations(), bool(self._updates))
        if self._search.is_enough():
            self._end()

    # The end.

    def end_of_program(self) -> None:
        """Say what there was, as the program ends by itself before the measured part does."""
        if self._has_ended or self._is_worker() or not (self._updates or self._steps):
            return
        if self._plan.end:
            self._say(early=self._updates if self._plan.unit == UPDATES else self._steps)
        else:
            self._say_result(is_over=True)

    def _end(self) -> None:
        with self._lock:
            if not self._has_ended:
                self._say_result()
                sys.stdout.flush()
                sys.stderr.flush()
                kill_all(self._first)
                os._exit(0)

    def _say_result(self, is_over: bool = False) -> None:
        self._has_ended = True
        begun = self._begun or (processor_ns(self._first), time.perf_counter_ns())
        processor, wall = processor_ns(self._first) - begun[0], time.perf_counter_ns() - begun[1]
        self._look()
        unit = self._plan.unit or (UPDATES if self._updates else STEPS)
        begin, end = (self._plan.begin, self._plan.end) if self._plan.end else self._search.found(is_over)
        self._say(
            ended=True,
            unit=unit,
            begin=begin,
            end=end,
            processor_ns=processor,
            wall_ns=wall,
            losses=[_number(loss) for loss in self._losses] or self._rewards,
            is_of_losses=bool(self._losses),
            sums=[_sum_of(optimizer) for optimizer in self._optimizers],
            processes=max(self._processes, 1 + len(descendants(self._first))),
            threads=threads_now(),
        )


def _number(loss: Any) -> float:
    return float(loss.double())


def _sum_of(optimizer: Any) -> float:
    """Return the sum of all parameters of an optimizer."""
    return sum(float(each.detach().double().sum()) for group in optimizer.param_groups for each in group["params"])
