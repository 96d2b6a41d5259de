"""transformers: generation, in it `prefill`, the pass over a prompt, and `decode`, the loop over tokens; its Trainer.

An iteration is a step of the optimizer, and so is a timestep: how many samples one trains on may differ.
"""

from collections.abc import Callable
from typing import Any

from rlscope.libraries.accelerate import UPDATE
from rlscope.model import CALLBACK, CHECKPOINT, EVALUATION, LOG
from rlscope.record.declared.kinds import Hook, MethodHook, WrapperHook
from rlscope.record.progress import report_iteration

GENERATE = ("inference", "generate")
GENERATION = ("transformers.generation.utils", "GenerationMixin")
BATCHES = ("transformers.generation.continuous_batching.continuous_api", "ContinuousMixin")
TRAINER = ("transformers.trainer", "Trainer")
CALLBACKS = ("transformers.trainer_callback", "CallbackHandler")


def _reporting(is_baseline: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Wrap what tells callbacks that training begins, or that a step of the optimizer is complete."""

    def wrap(tell: Callable[..., Any]) -> Callable[..., Any]:
        def telling(handler: Any, args: Any, state: Any, *rest: Any, **named: Any) -> Any:
            report_iteration(timesteps=state.global_step, total_timesteps=state.max_steps, is_baseline=is_baseline)
            return tell(handler, args, state, *rest, **named)

        return telling

    return wrap


HOOKS: tuple[Hook, ...] = (
    MethodHook(*GENERATION, "generate", GENERATE),
    MethodHook(*GENERATION, "_prefill", ("prefill",)),
    *(MethodHook(*GENERATION, name, ("decode",)) for name in ("_sample", "_beam_search", "_assisted_decoding")),
    MethodHook(*BATCHES, "generate_batch", GENERATE),
    MethodHook(*TRAINER, "train", ("training_loop",)),
    MethodHook(*TRAINER, "evaluate", (), phase=EVALUATION),
    MethodHook(*TRAINER, "compute_loss", UPDATE),
    MethodHook(*TRAINER, "save_model", (CHECKPOINT,)),
    MethodHook(*TRAINER, "_save_checkpoint", (CHECKPOINT,)),
    MethodHook(*TRAINER, "log", (LOG,)),
    MethodHook(*CALLBACKS, "call_event", (CALLBACK,)),
    WrapperHook(CALLBACKS[0], (CALLBACKS[1], "on_train_begin"), _reporting(is_baseline=True)),
    WrapperHook(CALLBACKS[0], (CALLBACKS[1], "on_step_end"), _reporting(is_baseline=False)),
)
