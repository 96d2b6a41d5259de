"""TRL: the stages of its online trainers, by the names of their own timers, and those of its asynchronous worker.

TRL times generation, rewards and log-probabilities under names. Methods are hooked where it times nothing: calls of
tools, and the asynchronous trainer with its worker, a process in which each task makes a sample. The files of
transformers and Accelerate have the update and the progress.
"""

from collections.abc import Callable
from typing import Any

from rlscope.record.declared.kinds import Hook, MethodHook, TimerHook, WrapperHook
from rlscope.record.progress import report_sample

TIMER = ("trl.extras.profiling", ("profiling_context",))
ASYNC = "trl.experimental.async_grpo"
ROLLOUTS = (f"{ASYNC}.async_rollout_worker", "_AsyncRolloutLoop")
TRANSFER = (f"{ASYNC}.weight_transfer", "WeightTransferClient")

GENERATE = ("inference", "generate")
SYNC = ("synchronisation", "sync_weights")


def _reporting_samples(generate: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the coroutine function that makes one sample, in a task of its own.

    Its version is the policy's when it began. Whether the trainer discards it later is not known in this process.
    """

    async def generating(rollouts: Any, *args: Any, **kwargs: Any) -> Any:
        version = rollouts.model_version
        made = await generate(rollouts, *args, **kwargs)
        report_sample("rollout", version=version, tokens=len(made[1]))
        return made

    return generating


HOOKS: tuple[Hook, ...] = (
    TimerHook(
        *TIMER,
        {
            "_prepare_inputs": ("prepare_inputs",),
            "transformers.generate": GENERATE,
            "transformers.generate_batch": GENERATE,
            "vLLM.generate": GENERATE,
            "_calculate_rewards": ("simulation", "reward"),
            "sync_weights": SYNC,
        },
    ),
    # The loss computes them as well, with gradients: there they are part of the update.
    TimerHook(*TIMER, {"_get_per_token_logps_and_entropies": ("inference", "logprobs")}, is_default=True),
    MethodHook("trl.trainer.grpo_trainer", "GRPOTrainer", "_tool_call_loop", ("simulation", "tool_call")),
    WrapperHook(ROLLOUTS[0], (ROLLOUTS[1], "_generate_one"), _reporting_samples),
    MethodHook(*ROLLOUTS, "_generate_one", ("rollout",), is_in_steps=True),
    MethodHook(*ROLLOUTS, "_generate_one_turn", GENERATE, is_in_steps=True),
    MethodHook(*ROLLOUTS, "_execute_tool_calls", ("simulation", "tool_call"), is_in_steps=True),
    MethodHook(*ROLLOUTS, "_score_group", ("simulation", "reward"), is_in_steps=True),
    MethodHook(f"{ASYNC}.async_grpo_trainer", "RolloutQueueDataset", "__iter__", ("wait_for_batch",), is_in_steps=True),
    MethodHook(f"{ASYNC}.async_grpo_trainer", "AsyncGRPOTrainer", "_sync_weight", SYNC),
    MethodHook(*TRANSFER, "pause", ("pause",)),
    MethodHook(*TRANSFER, "send_weights", ("transfer",)),
    MethodHook(f"{ASYNC}.vllm_client", "VLLMClient", "finish_weight_update", ("load",)),
    MethodHook(*TRANSFER, "resume", ("resume",)),
)
