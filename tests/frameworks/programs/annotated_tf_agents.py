"""DDPG by TF-Agents, eager: annotated by hand, or left to the automatic hooks, as the first argument says.

By hand means as a user would who does not know the hooks: what the training loop calls, and the environment. Both are
timed at these places by a stopwatch as well, because two executions are never equally long. The first iteration is to
warm up; prints the stopwatch's seconds in the others as JSON.
"""

import json
import os
import sys
from pathlib import Path

os.environ["TF_USE_LEGACY_KERAS"] = "1"
sys.path.insert(0, str(Path(__file__).parents[3] / "experiments" / "workloads"))
sys.path.insert(0, str(Path(__file__).parents[3] / "tests" / "scripts"))
import environment
import tf_agents_train as workload
from hyperparameters import DDPG
from stopwatch import Stopwatch, nanoseconds
from tf_agents.environments.batched_py_environment import BatchedPyEnvironment
from tf_agents.policies.gaussian_policy import GaussianPolicy
from tf_agents.specs import tensor_spec

import rlscope

ITERATIONS = 4
STOPWATCH = Stopwatch()
STOPWATCH.is_by_hand = sys.argv[1] == "by_hand"
stage = STOPWATCH.stage


class AnnotatedEnvironment(BatchedPyEnvironment):
    _step = stage("simulation")(BatchedPyEnvironment._step)
    _reset = stage("simulation")(BatchedPyEnvironment._reset)


workload.BatchedPyEnvironment = AnnotatedEnvironment
workload.tf.config.threading.set_intra_op_parallelism_threads(1)
workload.tf.config.threading.set_inter_op_parallelism_threads(1)
workload.tf.config.run_functions_eagerly(True)
workload.tf.keras.utils.set_random_seed(7)
walker = workload.GymnasiumEnvironment(environment.make("Walker2d-v5", 7, DDPG))
agent = workload.make_agent(DDPG, *map(tensor_spec.from_spec, (walker.time_step_spec(), walker.action_spec())))
buffer = workload.make_buffer(agent, DDPG)
make_collect = workload.collector_in_tensorflow(walker, buffer)
collect = stage("inference")(make_collect(GaussianPolicy(agent.policy, DDPG.exploration_noise), DDPG.steps))
batches = workload.batches(buffer, DDPG.batch_size)
update = stage("backpropagation")(workload.make_update(agent, batches, DDPG.updates, "eager"))
for iteration in range(ITERATIONS):
    if iteration == 1:
        STOPWATCH.marks.clear()
    collect()
    update()
    rlscope.report_progress(timesteps=(iteration + 1) * DDPG.steps)
print(json.dumps({name: spent / 1e9 for name, spent in nanoseconds(STOPWATCH.marks).items()}))
