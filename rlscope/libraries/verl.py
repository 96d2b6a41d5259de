"""verl: the stages of its trainers, by the names that they give their own timers, in whichever process these run."""

from rlscope.record.declared.kinds import Hook, TimerHook

PROFILER = "verl.utils.profiler"
GENERATE = ("inference", "generate")
LOGPROBS = ("inference", "logprobs")
SYNC = ("synchronisation", "sync_weights")
WAIT = ("wait_for_batch",)

OPERATIONS = {
    "step": ("training_loop",),
    "gen": GENERATE,
    "generate_sequences": GENERATE,
    "generate_async": GENERATE,
    "old_log_prob": LOGPROBS,
    "ref": LOGPROBS,
    "values": ("inference", "predict_values"),
    "reward": ("simulation", "reward"),
    "compute_score": ("simulation", "reward"),
    "tool_calls": ("simulation", "tool_call"),
    "adv": ("backpropagation", "advantages"),
    "update_actor": ("backpropagation", "update_actor"),
    "update_critic": ("backpropagation", "update_critic"),
    "update_weights": SYNC,
    "sync_rollout_weights": SYNC,
    "timing_s/param_sync": SYNC,
    "switch_to_rollout": ("synchronisation", "switch_to_rollout"),
    "switch_to_trainer": ("synchronisation", "switch_to_trainer"),
    "switch_wait": WAIT,
    "wait_for_enough_samples": WAIT,
    "testing": ("evaluate",),
}

HOOKS: tuple[Hook, ...] = (
    TimerHook(f"{PROFILER}.performance", ("simple_timer",), OPERATIONS),
    TimerHook(f"{PROFILER}.performance", ("marked_timer",), OPERATIONS),
    TimerHook(f"{PROFILER}.nvtx_profile", ("marked_timer",), OPERATIONS),  # used where the package nvtx is installed
)
