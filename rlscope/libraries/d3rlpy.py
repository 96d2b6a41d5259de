"""d3rlpy: the training loop, offline and online, and its stages; what its evaluators do is an evaluation."""

from rlscope.model import EVALUATION
from rlscope.record.declared.kinds import FunctionHook, Hook, MethodHook

ALGORITHM = ("d3rlpy.algos.qlearning.base", "QLearningAlgoBase")
BUFFER = ("d3rlpy.dataset.replay_buffer", "ReplayBufferBase")
EVALUATORS = "d3rlpy.metrics.evaluators"

HOOKS: tuple[Hook, ...] = (
    MethodHook(*ALGORITHM, "fit", ("training_loop",)),
    MethodHook(*ALGORITHM, "fit_online", ("training_loop",)),
    MethodHook(*ALGORITHM, "sample_action", ("inference", "sample_action")),
    MethodHook(*ALGORITHM, "predict", ("inference",)),
    MethodHook("d3rlpy.algos.qlearning.explorers", "Explorer", "sample", ("inference", "sample_action")),
    MethodHook(*ALGORITHM, "update", ("backpropagation",)),
    MethodHook(*BUFFER, "append", ("replay_buffer_add",)),
    MethodHook(*BUFFER, "sample_transition_batch", ("backpropagation", "sample_batch")),
    *(
        FunctionHook(module, "evaluate_qlearning_with_environment", (), phase=EVALUATION)
        for module in (ALGORITHM[0], EVALUATORS)
    ),
)
