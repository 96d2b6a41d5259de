"""Step heavy environments in several processes.

**Why it is slow.** A vector of environments in one process steps one after the other, on one core, while other
cores have nothing to do.

**Slow**

    envs = DummyVecEnv([make] * 8)                 # or gymnasium.vector.SyncVectorEnv

**Faster**

    envs = SubprocVecEnv([make] * 8)               # or gymnasium.vector.AsyncVectorEnv

**How it is found.** The process that trains steps a vector of environments itself. One step of it takes longer than
messages to processes would. The run leaves cores idle.

**When it is wrong.** Where other programs want these cores later.

**Reported:** DLR-RM/stable-baselines3 #1778, openai/gym #1548.
"""

from collections.abc import Iterator

from rlscope.rules.evidence import LEAST_IDLE, Evidence, where
from rlscope.rules.finding import Found
from rlscope.text.numbers import digits, duration

TRIAL = "processes"

#: They step their environments one after the other.
_SERIAL = (
    "gymnasium/vector/sync_vector_env.py SyncVectorEnv.step",
    "gym/vector/sync_vector_env.py SyncVectorEnv.step",
    "stable_baselines3/common/vec_env/dummy_vec_env.py DummyVecEnv.step_wait",
    "tianshou/env/venvs.py DummyVectorEnv.",
    "torchrl/envs/batched_envs.py SerialEnv.",
)
#: So many are stepped at once, or there is nothing to divide.
_LEAST_ENVIRONMENTS = 1.5
_MAKERS = ("SyncVectorEnv", "DummyVecEnv", "DummyVectorEnv", "SerialEnv", "make_vec", "make_vec_env")
#: A message to another process and back takes so long, and so much of the processor time of both processes.
_MESSAGE_S, _BOTH_WAYS_S = 200e-6, 130e-6


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for environments that one process steps while cores are idle."""
    cores = evidence.tables.cores
    if cores.usable is None or evidence.idle_cores < LEAST_IDLE:
        return
    serial = evidence.stacks.passing(lambda name: name.startswith(_SERIAL))
    steps = evidence.simulation_steps
    timesteps = evidence.tables.timesteps
    if serial is None or not steps or serial.seconds / steps < _MESSAGE_S:
        return
    if timesteps is not None and timesteps < _LEAST_ENVIRONMENTS * steps:
        return
    place = evidence.made(_MAKERS, serial.place)
    change = (
        f"step environments in several processes: {serial.function} has {evidence.share(serial.seconds)} of the "
        f"training, {duration(serial.seconds / steps)} a step, on one of {digits(cores.usable)} cores"
        f"{where(place)}"
    )
    # The process that trains sends and receives alone; workers do so on all cores.
    messages_s = (timesteps or steps) * _BOTH_WAYS_S
    saved_s = serial.seconds * (1 - 1 / cores.usable) - messages_s * (1 + 1 / cores.usable)
    yield Found(change, "functions: stage=simulation", saved_s, place)
