"""skrl on PyTorch: the training loop, its stages, iterations and timesteps; a trainer's `eval` is an evaluation."""

from collections.abc import Callable
from typing import Any

from rlscope._native import Hooked
from rlscope.model import EVALUATION
from rlscope.record.declared.hooks import scope_of
from rlscope.record.declared.kinds import Hook, MethodHook, WrapperHook
from rlscope.record.progress import report_iteration

TRAINER = ("skrl.trainers.torch.base", "Trainer")
ENVIRONMENTS = ("Wrapper", "MultiAgentEnvWrapper")
AGENTS = (("skrl.agents.torch.base", "Agent"), ("skrl.multi_agents.torch.base", "MultiAgent"))


def _reporting(post_interaction: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap what every agent calls at the end of a timestep, also of an evaluation."""

    def reporting(agent: Any, *, timestep: int, timesteps: int) -> Any:
        result = post_interaction(agent, timestep=timestep, timesteps=timesteps)
        if agent.training:
            report_iteration(timesteps=timestep + 1, total_timesteps=timesteps)
        return result

    return reporting


def _in_update(set_mode: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap what every agent calls before and after an update, and once before the training."""
    recorded = Hooked(set_mode, (scope_of("backpropagation"),))

    def setting(agent: Any, *args: Any, **kwargs: Any) -> Any:
        return (recorded if agent.training else set_mode)(agent, *args, **kwargs)

    return setting


HOOKS: tuple[Hook, ...] = (
    MethodHook(*TRAINER, "train", ("training_loop",)),
    MethodHook(*TRAINER, "eval", (), phase=EVALUATION),
    *(
        MethodHook("skrl.envs.wrappers.torch.base", environment, method, operations)
        for environment in ENVIRONMENTS
        for method, operations in {
            "step": ("simulation",),
            "reset": ("simulation", "reset"),
            "render": ("simulation", "render"),
        }.items()
    ),
    *(
        MethodHook(*agent, method, operations)
        for agent in AGENTS
        for method, operations in {
            "act": ("inference", "sample_action"),
            # Algorithms on policies ask the value network here.
            "record_transition": ("inference", "replay_buffer_add"),
            "update": ("backpropagation",),
        }.items()
    ),
    *(
        WrapperHook(module, (agent, method), wrap)
        for module, agent in AGENTS
        for method, wrap in {
            "post_interaction": _reporting,
            "enable_models_training_mode": _in_update,
        }.items()
    ),
)
