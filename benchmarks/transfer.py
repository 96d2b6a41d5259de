"""Whether a calibration holds for programs that it never saw: what recording adds to them, what correction removes.

`python -m benchmarks.transfer CALIBRATION [SECONDS]` runs each loop for so long in one process, with recording switched
on and off; of each recorded stretch the analysis says how much of it recording added. Prints a JSON object per loop and
recording. A recording of nothing is the control: what it seems to add is the error of this measurement.
"""

import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray

from rlscope import _native
from rlscope.analysis.correction import BOUNDS, PARTS_PER_TICK, Correction
from rlscope.analysis.sweep import sweep_trace
from rlscope.calibration.calibration import load
from rlscope.record import recorder
from rlscope.record.config import RecordConfig
from rlscope.record.trace_directory import begin_trace, end_trace, name_main_process
from rlscope.trace.reader import open_trace

DEFAULT_SECONDS = 60.0
# What switching recording on or off changes has passed by then: each instruction has run some dozens of times.
SETTLING_ITERATIONS = 100
# And what the filling of chunks is charged, which is more than it takes, is not carried into what is measured.
SETTLING_S = 0.25
STRETCH_S = 0.15
# Of all iterations' lengths.
QUANTILE = 25
# Fills the first, small chunks, as in a recording that has gone on for a while.
FILLING_PHASES = 100_000
RESAMPLES = 500

Step = Callable[[], object]


def network(*widths: int) -> torch.nn.Sequential:
    """Layers of these widths with tanh between them."""
    layers: list[torch.nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.Tanh()]
    return torch.nn.Sequential(*layers[:-1])


def ppo() -> Step:
    """CartPole, a policy and a value of two hidden layers each; an update on 8 samples every 8 steps."""
    environment = gymnasium.make("CartPole-v1")
    policy, value = network(4, 64, 64, 2), network(4, 64, 64, 1)
    parameters = [*policy.parameters(), *value.parameters()]
    optimizer = torch.optim.Adam(parameters, 1e-4)
    observation, _ = environment.reset(seed=1)

    def step() -> None:
        nonlocal observation
        observations, actions, rewards, logs = [], [], [], []
        for _ in range(8):
            seen = torch.as_tensor(observation)
            with torch.no_grad():
                distribution = torch.distributions.Categorical(logits=policy(seen))
                action = distribution.sample()
                logs.append(distribution.log_prob(action))
            observation, reward, terminated, truncated, _ = environment.step(int(action))
            observations.append(seen)
            actions.append(action)
            rewards.append(float(reward))
            if terminated or truncated:
                observation, _ = environment.reset()
        batch, before, chosen = torch.stack(observations), torch.stack(logs), torch.stack(actions)
        distribution = torch.distributions.Categorical(logits=policy(batch))
        values = value(batch).squeeze(-1)
        advantage = torch.as_tensor(rewards) - values
        ratio = (distribution.log_prob(chosen) - before).exp()
        clipped = ratio.clamp(0.8, 1.2) * advantage.detach()
        loss = -torch.min(ratio * advantage.detach(), clipped).mean() + advantage.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 0.5)
        optimizer.step()

    return step


def td3() -> Step:
    """Pendulum, two critics and an actor of 256 units; an update on 100 samples each step."""
    environment = gymnasium.make("Pendulum-v1")
    actor, target = network(3, 256, 256, 1), network(3, 256, 256, 1)
    critics = [network(4, 256, 256, 1) for _ in range(2)]
    optimizers = [torch.optim.Adam(net.parameters(), 1e-4) for net in (actor, *critics)]
    memory = torch.randn(10_000, 3 + 1 + 1 + 3)
    observation, _ = environment.reset(seed=1)
    steps = 0

    def step() -> None:
        nonlocal observation, steps
        steps += 1
        with torch.no_grad():
            action = actor(torch.as_tensor(observation)).tanh().numpy()
        observation, _, _, truncated, _ = environment.step(action)
        if truncated:
            observation, _ = environment.reset()
        old, taken, reward, new = memory[torch.randint(10_000, (100,))].split([3, 1, 1, 3], dim=1)
        with torch.no_grad():
            following = (target(new).tanh() + torch.randn(100, 1).clamp(-0.5, 0.5)).clamp(-1, 1)
            best = torch.min(*[critic(torch.cat([new, following], 1)) for critic in critics])
            wanted = reward + 0.99 * best
        for critic, optimizer in zip(critics, optimizers[1:], strict=True):
            loss = torch.nn.functional.mse_loss(critic(torch.cat([old, taken], 1)), wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if steps % 2 == 0:
            loss = -critics[0](torch.cat([old, actor(old).tanh()], 1)).mean()
            optimizers[0].zero_grad()
            loss.backward()
            optimizers[0].step()
            with torch.no_grad():
                for slow, fast in zip(target.parameters(), actor.parameters(), strict=True):
                    slow.mul_(0.995).add_(fast, alpha=0.005)

    return step


def simulation() -> Step:
    """Steps of Acrobot and nothing else."""
    environment = gymnasium.make("Acrobot-v1")
    environment.reset(seed=1)

    def step() -> None:
        for _ in range(10):
            _, _, terminated, truncated, _ = environment.step(random.randrange(3))
            if terminated or truncated:
                environment.reset()

    return step


RECORDINGS = {
    "nothing": RecordConfig(layers=(), auto=False),
    "calls and operations": RecordConfig(layers=("backend", "simulator")),
}
LOOPS = {"ppo": ppo, "td3": td3, "simulation": simulation}


def stretch(step: Step, settling: int, iterations: int) -> list[int]:
    """Processor time in ns of each of so many iterations, after settling."""
    lengths = []
    with _native.phase("settling"):
        for _ in range(settling):
            step()
    with _native.phase("measured"):
        for _ in range(iterations):
            started = time.thread_time_ns()
            step()
            lengths.append(time.thread_time_ns() - started)
    return lengths


def recorded_stretch(step: Step, settling: int, iterations: int, directory: Path, config: RecordConfig) -> list[int]:
    """The same in a recording of its own."""
    recorder.activate(directory, config)
    filling = _native.phase("filling")
    for _ in range(FILLING_PHASES):
        with filling:
            pass
    lengths = stretch(step, settling, iterations)
    recorder.deactivate()
    return lengths


def usual_s(stretches: NDArray[np.float64]) -> float:
    """Of an iteration, by the faster ones: what else the machine does makes the others slower, by far more."""
    return float(np.percentile(stretches, QUANTILE)) / 1e9


def removed_s(directory: Path, correction: Correction, iterations: int) -> tuple[NDArray[np.float64], float]:
    """The least, the expected and the most time that is removed of an iteration; and a recording's events."""
    found, events = [], []
    for process in sweep_trace(open_trace(directory), correction=correction).processes:
        swept = process.found["correction"]
        assert swept is not None
        rows = [row[-1] for row in swept["removed"] if row[0] == "measured"]
        sums = [sum(row[bound] for row in rows) for bound in range(BOUNDS)]
        found.append([process.length_ns(parts) / PARTS_PER_TICK / 1e9 / iterations for parts in sums])
        counted = process.found["events"]["operation"] + sum(process.found["crossings"].values())
        events.append(counted)
    return np.median(found, axis=0), float(np.median(events))


def check(name: str, records: str, correction: Correction, seconds: float) -> dict[str, object]:
    """Runs a loop, and compares what recording added with what correction removes."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    step, config = LOOPS[name](), RECORDINGS[records]
    each_ns = usual_s(np.array(stretch(step, 1, SETTLING_ITERATIONS))) * 1e9
    iterations = max(1, round(STRETCH_S * 1e9 / each_ns))
    settling = max(SETTLING_ITERATIONS, round(SETTLING_S * 1e9 / each_ns))
    with tempfile.TemporaryDirectory() as root:
        directory = Path(root, "trace")
        begin_trace(directory, config, command=None, is_forced=False)
        name_main_process(directory, os.getpid())
        off, on = [], []
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            off.append(stretch(step, settling, iterations))
            on.append(recorded_stretch(step, settling, iterations, directory, config))
        end_trace(directory, exit_status=0)
        (least, expected, most), events = removed_s(directory, correction, iterations)
    times_off, times_on = np.array(off, dtype=float), np.array(on, dtype=float)
    generator = np.random.default_rng(1)
    samples = []
    for _ in range(RESAMPLES):
        chosen = generator.integers(len(off), size=len(off))
        samples.append(usual_s(times_on[chosen]) - usual_s(times_off[chosen]))
    low, high = np.percentile(samples, [2.5, 97.5])
    usual = usual_s(times_off)
    added = usual_s(times_on) - usual
    return {
        "loop": name,
        "records": records,
        "stretches": len(on),
        "events_per_s": round(events / (settling + iterations) / usual),
        "added_percent": [round(100 * float(each) / usual, 3) for each in (added, low, high)],
        "removed_percent": [round(100 * float(each) / usual, 3) for each in (expected, least, most)],
        "removed_of_added": round(float(expected) / added, 2),
        "bias_percent": round(100 * float(added - expected) / usual, 3),
        "intervals_meet": bool(least <= high and low <= most),
    }


def main() -> None:
    """Checks all loops."""
    path, *rest = sys.argv[1:]
    correction = load(Path(path)).correction(path)
    seconds = float(rest[0]) if rest else DEFAULT_SECONDS
    for name in LOOPS:
        for records in RECORDINGS:
            print(json.dumps(check(name, records, correction, seconds)), flush=True)


if __name__ == "__main__":
    main()
