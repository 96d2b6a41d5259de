"""This file holds the programs that a calibration measures: loops of real calls, run as twins recorded differently.

`python -m rlscope.calibration.workload LOOP SECONDS DIRECTORY` leaves traces in the directory, and prints what it
measured, `Measured`, as one JSON document.
"""

from __future__ import annotations

import bisect
import importlib
import json
import math
import random
import sys
import zlib
from binascii import hexlify
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from struct import pack, unpack_from
from typing import Any

from rlscope import _native
from rlscope.calibration.twins import Program, Tick, Twin, run_twins
from rlscope.model import Category
from rlscope.record import recorder
from rlscope.record.config import RecordConfig

#: How often each twin takes each role.
SWAPS = 4
#: Bursts that are left out whenever twins swap roles: by then the interpreter has specialized its instructions anew.
SETTLING = 12
#: The twin in which the work of each record is done so many times: what one takes shows between it and the usual one.
MANY = 16
#: More than the caches near a core hold, so that work and records are as cold as in a program.
TOUCHED_BYTES = 32 << 20

OPERATIONS = RecordConfig(layers=())
BACKEND = RecordConfig(layers=("backend",), auto=False)
ANNOTATIONS = RecordConfig(layers=(), auto=False)
CUDA = RecordConfig(layers=("cuda",), auto=False)


@dataclass
class Measured:
    """This is what one loop's twins measured.

    Attributes:
        missing: why this loop cannot be run here; empty if it can.
        versions: of the libraries that it calls.
        lengths_ns: of each twin's bursts.
        cycle: bursts after which the same kinds of work come again.
    """

    missing: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    lengths_ns: dict[str, list[int]] = field(default_factory=dict)
    cycle: int = 1


@dataclass(frozen=True)
class Loop:
    """This is what one process measures.

    Attributes:
        program: what runs.
        twins: how it is recorded; "off" not at all.
        share: of the time for measuring; of what the GPU's leaves, where there is one.
        imports: modules that it calls; without one of them it is missing. Twins need not import them again.
        why_not: says why it cannot be run although they are there; empty if it can.
        cycle: bursts after which the same kinds of work come again.
        has_device: whether a GPU works for it.
    """

    program: Program
    twins: dict[str, Twin]
    share: float
    imports: tuple[str, ...] = ()
    why_not: Callable[[], str] = str
    cycle: int = 1
    has_device: bool = False


def repeated(tick: Tick, times: int, iteration: Callable[[], object]) -> None:
    """Run a program of bursts of so many iterations."""
    while True:
        tick()
        for _ in range(times):
            iteration()


def touched_memory() -> tuple[bytearray, Callable[[int], int]]:
    """Return memory that is in no cache, and what chooses a place in it."""
    memory = bytearray(random.Random(1).randbytes(TOUCHED_BYTES // 16) * 16)
    return memory, random.Random(2).randrange


def annotated_python(tick: Tick) -> None:
    """Run a few microseconds of Python in an operation each."""
    memory, choose = touched_memory()
    operation = _native.operation

    def step(name: str) -> int:
        with operation(name):
            place = choose(TOUCHED_BYTES - 64)
            return sum(memory[place : place + 24])

    def iteration() -> None:
        step("simulation")
        step("inference")
        step("evaluate")

    repeated(tick, 1500, iteration)


def standard_library(tick: Tick) -> None:
    """Call native functions of several calling conventions, on memory that is in no cache."""
    memory, choose = touched_memory()
    steps = sorted(choose(TOUCHED_BYTES) for _ in range(1000))

    def iteration() -> None:
        place = choose(TOUCHED_BYTES - 256)
        piece = memory[place : place + 200]
        first, second = unpack_from("<HH", piece, 0)
        length = math.hypot(first, second)
        hexlify(pack("<dI", length, zlib.crc32(piece)))
        zlib.adler32(piece, bisect.bisect(steps, place))

    repeated(tick, 1500, iteration)


def wrap_standard_library() -> None:
    """Make its functions boundaries, which they are not otherwise."""
    assert recorder.active is not None
    for module in ("zlib", "binascii", "_struct", "_bisect", "math"):
        recorder.active.wrap(sys.modules[module], Category.BACKEND)


def environment_steps(tick: Tick) -> None:
    """Step an environment in its usual wrappers by a small policy in NumPy."""
    import gymnasium
    import numpy as np

    environment = gymnasium.make("CartPole-v1")
    observation, _ = environment.reset(seed=1)
    generator = np.random.default_rng(1)
    hidden, output = generator.normal(size=(4, 64)), generator.normal(size=(64, 2))

    def iteration() -> None:
        nonlocal observation
        scores = np.tanh(observation @ hidden) @ output
        action = int(np.argmax(scores + generator.gumbel(size=2)))
        observation, _, terminated, truncated, _ = environment.step(action)
        if terminated or truncated:
            observation, _ = environment.reset()

    repeated(tick, 250, iteration)


def training_script(tick: Tick, device: str = "cpu", iterations: int = 2) -> None:
    """Train with PyTorch and no library, as PPO does: eight steps of CartPole, and an update on them."""
    import gymnasium
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(1)
    environment = gymnasium.make("CartPole-v1")
    policy, value = (network(4, 64, 64, outputs).to(device) for outputs in (2, 1))
    parameters = [*policy.parameters(), *value.parameters()]
    optimizer = torch.optim.Adam(parameters, 1e-4)
    observation, _ = environment.reset(seed=1)

    def iteration() -> None:
        nonlocal observation
        observations, actions, rewards, logs = [], [], [], []
        for _ in range(8):
            seen = torch.as_tensor(observation, device=device)
            with torch.no_grad():
                acting: Any = torch.distributions.Categorical(logits=policy(seen))
                action = acting.sample()
                logs.append(acting.log_prob(action))
            observation, reward, terminated, truncated, _ = environment.step(int(action))
            observations.append(seen)
            actions.append(action)
            rewards.append(float(reward))
            if terminated or truncated:
                observation, _ = environment.reset()
        batch, before, chosen = torch.stack(observations), torch.stack(logs), torch.stack(actions)
        distribution: Any = torch.distributions.Categorical(logits=policy(batch))
        advantage = torch.as_tensor(rewards, device=device) - value(batch).squeeze(-1)
        ratio = (distribution.log_prob(chosen) - before).exp()
        gain = torch.min(ratio * advantage.detach(), ratio.clamp(0.8, 1.2) * advantage.detach())
        optimizer.zero_grad()
        (advantage.pow(2).mean() - gain.mean()).backward()
        torch.nn.utils.clip_grad_norm_(parameters, 0.5)
        optimizer.step()

    repeated(tick, iterations, iteration)


def network(*widths: int) -> Any:
    """Return layers of PyTorch of these widths with tanh between them."""
    import torch

    layers: list[torch.nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.Tanh()]
    return torch.nn.Sequential(*layers[:-1])


def stable_baselines3(algorithm: str, environment: str, steps: int, **settings: Any) -> Program:
    """Return training by an algorithm of Stable-Baselines3 with these settings. A burst is so many steps of it."""

    def program(tick: Tick) -> None:
        import stable_baselines3
        import torch
        from stable_baselines3.common.callbacks import BaseCallback

        torch.set_num_threads(1)

        class Ticking(BaseCallback):
            def _on_step(self) -> bool:
                if self.n_calls % steps == 0:
                    tick()
                return True

        learner = getattr(stable_baselines3, algorithm)("MlpPolicy", environment, seed=1, device="cpu", **settings)
        learner.learn(10**12, callback=Ticking())

    return program


def gpu_training_script(tick: Tick) -> None:
    """Run `training_script` on a GPU."""
    import torch

    def finish() -> None:
        torch.cuda.synchronize()
        tick()

    training_script(finish, "cuda")


def why_no_gpu() -> str:
    """Return why there is no GPU, without asking CUDA, which would then be of no use after a fork."""
    import torch

    return "" if torch.cuda.device_count() else "there is no GPU that PyTorch can use"


#: The twin that is not recorded.
OFF = "off"
#: How trainings are recorded.
TRAINING = {OFF: Twin(), "operations": Twin(OPERATIONS), "backend": Twin(BACKEND)}
#: The loops of one library.
STABLE_BASELINES3 = ON_POLICY, OFF_POLICY = ("stable_baselines3 on-policy", "stable_baselines3 off-policy")
LOOPS = {
    "gpu": Loop(
        gpu_training_script,
        {OFF: Twin(), "on": Twin(CUDA), "many": Twin(CUDA, MANY)},
        share=0.3,
        imports=("gymnasium", "torch", "torch._dynamo"),
        why_not=why_no_gpu,
        has_device=True,
    ),
    "annotations": Loop(
        annotated_python, {OFF: Twin(), "on": Twin(ANNOTATIONS), "many": Twin(ANNOTATIONS, MANY)}, share=0.06
    ),
    "standard library": Loop(
        standard_library,
        {
            OFF: Twin(),
            "on": Twin(ANNOTATIONS, prepare=wrap_standard_library),
            "many": Twin(ANNOTATIONS, MANY, wrap_standard_library),
        },
        share=0.06,
    ),
    "environment": Loop(
        environment_steps, {OFF: Twin(), "operations": Twin(OPERATIONS)}, share=0.08, imports=("gymnasium", "numpy")
    ),
    "script": Loop(training_script, TRAINING, share=0.26, imports=("gymnasium", "torch", "torch._dynamo")),
    ON_POLICY: Loop(
        stable_baselines3("PPO", "CartPole-v1", 32, n_steps=128, batch_size=64, n_epochs=4),
        TRAINING,
        share=0.27,
        imports=("gymnasium", "torch", "torch._dynamo", "stable_baselines3"),
        cycle=4,
    ),
    OFF_POLICY: Loop(
        stable_baselines3("DQN", "CartPole-v1", 32, exploration_initial_eps=0.05),
        TRAINING,
        share=0.27,
        imports=("gymnasium", "torch", "torch._dynamo", "stable_baselines3"),
    ),
}


def measure(loop: Loop, seconds: float, directory: Path) -> Measured:
    """Run twins of the loop for as long, those that are recorded into `directory / TWIN`."""
    try:
        modules = {name: importlib.import_module(name) for name in loop.imports}
    except ImportError as error:
        return Measured(missing=str(error))
    if missing := loop.why_not():
        return Measured(missing=missing)
    versions = {name: str(module.__version__) for name, module in modules.items() if "." not in name}
    measured = Measured(versions=versions)
    found = run_twins(loop.twins, loop.program, directory, seconds, SWAPS, SETTLING, loop.cycle, loop.has_device)
    measured.lengths_ns = {name: lengths.tolist() for name, lengths in found.items()}
    measured.cycle = loop.cycle
    return measured


def main() -> None:
    """Print what was measured."""
    loop, seconds, directory = sys.argv[1:]
    document: dict[str, Any] = asdict(measure(LOOPS[loop], float(seconds), Path(directory)))
    json.dump(document, sys.stdout)


if __name__ == "__main__":
    main()
