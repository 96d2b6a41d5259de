"""XuanCe on PyTorch: the training loop, its stages, callbacks and logs; an agent's `test` is an evaluation.

Iterations are counted as in a loop without a library: by steps of environments, and the updates between them.
"""

from rlscope.model import CALLBACK, CHECKPOINT, EVALUATION, LOG
from rlscope.record.declared.kinds import Hook, MethodHook

AGENTS = (("xuance.torch.agents.base.agent", "Agent"), ("xuance.torch.agents.base.agents_marl", "MARLAgents"))
VECTOR = ("xuance.environment.vector_envs.vector_env", "VecEnv")
#: Those that vectors hold, also in their workers.
ENVIRONMENTS = ("RawEnvironment", "RawMultiAgentEnv")
BUFFERS = (("xuance.common.memory_tools", "Buffer"), ("xuance.common.memory_tools_marl", "BaseBuffer"))
CALLBACKS = (
    "on_train_step", "on_train_step_end", "on_train_epochs_end", "on_train_episode_info",
    "on_update_start", "on_update_end",
)  # fmt: skip

HOOKS: tuple[Hook, ...] = (
    *(
        MethodHook(*agent, method, operations)
        for agent in AGENTS
        for method, operations in {
            "train": ("training_loop",),
            "get_actions": ("inference", "sample_action"),
            "train_epochs": ("backpropagation",),
            "save_model": (CHECKPOINT,),
            "log_infos": (LOG,),
            "log_videos": (LOG,),
        }.items()
    ),
    *(MethodHook(*agent, "test", (), phase=EVALUATION) for agent in AGENTS),
    MethodHook(*VECTOR, "step", ("simulation",), steps="num_envs"),
    MethodHook(*VECTOR, "reset", ("simulation", "reset")),
    MethodHook(*VECTOR, "render", ("simulation", "render")),
    *(
        MethodHook("xuance.environment.utils.base", environment, method, operations)
        for environment in ENVIRONMENTS
        for method, operations in {"step": ("simulation",), "reset": ("simulation", "reset")}.items()
    ),
    *(MethodHook(*buffer, "store", ("inference", "replay_buffer_add")) for buffer in BUFFERS),
    *(MethodHook(*buffer, "sample", ("backpropagation", "sample_batch")) for buffer in BUFFERS),
    *(MethodHook("xuance.common.callback", "BaseCallback", method, (CALLBACK,)) for method in CALLBACKS),
)
