"""Leave out the evaluations of a callback."""

from typing import Any

from rlscope.trial.change import Function, Making

ALTERS = "no evaluation: neither its results, nor the best model, nor what would stop the training by them"
IS_OF_WALL = False
_KEEP = "EvalCallback(..., eval_freq=...) with a larger number, or without it"


def prepare(making: Making) -> None:
    """Let callbacks that evaluate do nothing when an evaluation is due."""

    def left_out(on_step: Function) -> Function:
        def stepped(self: Any) -> Any:
            is_due = self.eval_freq > 0 and self.n_calls % self.eval_freq == 0
            if is_due:
                making.met("evaluation", _KEEP)
            return True if is_due and making.is_on else on_step(self)

        return stepped

    making.after_import(
        "stable_baselines3.common.callbacks",
        lambda module: making.replace_method(module.EvalCallback, "_on_step", left_out),
    )
