"""TF-Agents: collecting with a driver or a policy, environments behind Python, training, buffers, target networks."""

from rlscope.record.declared.kinds import FunctionHook, Hook, MethodHook

COLLECT = ("inference", "collect_data")
ACT = ("inference", "sample_action")
TRAIN = ("backpropagation",)

HOOKS: tuple[Hook, ...] = (
    # What a driver does besides acting and stepping is little, and part of acting in the published figures.
    MethodHook("tf_agents.drivers.driver", "Driver", "run", COLLECT, is_traced=True),
    MethodHook("tf_agents.policies.tf_policy", "TFPolicy", "action", ACT, is_traced=True),
    MethodHook("tf_agents.policies.py_policy", "PyPolicy", "action", ACT, is_traced=True),
    # An environment made of TensorFlow's operations is compiled into its driver: then its time is the backend's.
    MethodHook("tf_agents.environments.py_environment", "PyEnvironment", "step", ("simulation",)),
    MethodHook("tf_agents.environments.py_environment", "PyEnvironment", "reset", ("simulation", "reset")),
    MethodHook("tf_agents.agents.tf_agent", "TFAgent", "train", TRAIN, is_traced=True),
    MethodHook("tf_agents.train.learner", "Learner", "run", TRAIN),
    MethodHook(
        "tf_agents.replay_buffers.replay_buffer", "ReplayBuffer", "add_batch", ("replay_buffer_add",), is_traced=True
    ),
    MethodHook(
        "tf_agents.replay_buffers.replay_buffer",
        "ReplayBuffer",
        "get_next",
        ("backpropagation", "sample_batch"),
        is_traced=True,
    ),
    MethodHook(
        "tensorflow.python.data.ops.iterator_ops",
        "OwnedIterator",
        "_next_internal",
        ("backpropagation", "sample_batch"),
        is_default=True,  # Keras predicts, too, on what an iterator gives
    ),
    FunctionHook("tf_agents.utils.common", "soft_variables_update", ("update_target_network",), is_traced=True),
)
