"""Measures forecasts against edits: a program is recorded, and run without recording as it is and edited, in turns.

`make forecasts` keeps what it measures in forecasts.json, by processor time of all processes, pair by pair as soon as
it is there, and writes docs/forecast-measured.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from rules.recording import ENVIRONMENT, trained, written
from rules.trying import replaced, with_stopwatch

from rlscope.forecast.forecast import interval_of

ROOT = Path(__file__).resolve().parents[2]
KEPT = Path(__file__).parent / "forecasts.json"
PAGE = ROOT / "docs" / "forecast-measured.md"
HEAD = """# How far forecasts were off

`make forecasts` writes this page. A program is recorded as it is, and [forecast](forecast.md) from that. Then it runs
without a recording, as it is and edited, in turns: the factor is of processor time of all processes, the mean of the
runs with their range. Programs are the hosts and faults of [rules](rules/measured.md). Other programs shared the two
cores, so that what was measured scatters as well. *Error* is the forecast by what was measured. *Gain off* says how
many times as large or as small as forecast the gain was, the factor without 1. *Held* is whether what was measured lies
in the interval that the other pairs of the model give: the largest *gain off* of these is its width.

"""
#: They are imported before programs are forked.
MODULES = ("torch", "gymnasium", "mujoco", "stable_baselines3")
_IN_PROCESSES = ', vec_env_cls=SubprocVecEnv, vec_env_kwargs=dict(start_method="fork")'
_ON_STEP = "_on_step(self) -> bool:\n"
_EACH = "        if self.n_calls % {}:\n            return True\n"
_SB3 = "from stable_baselines3 import PPO\n"
_VECTOR = "from stable_baselines3.common.vec_env import SubprocVecEnv\n"


class Pair(NamedTuple):
    """A program and an edit, and the change of `rlscope forecast` that says what the edit brings.

    Attributes:
        program: A host or a fault.
        change: The change.
        edit: Replacements that make it.
        prepared: Replacements that are made on both sides.
    """

    program: str
    change: str
    edit: tuple[tuple[str, str], ...]
    prepared: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """The program as it is kept, with the change."""
        return f"{self.program}, {self.change}"


PAIRS = (
    Pair("RLS202_actor_critic", "copy.py deepcopy=gone", (("before = copy.deepcopy(policy.state_dict())", "pass"),)),
    Pair("RLS302_sb3_ppo", "Watch._on_step=gone", ((", callback=Watch()", ""),)),
    Pair("RLS201_trading", "Market.step=2x", (("self.now - 3000), self.now)", "self.now - 3000), self.now, 2)"),)),
    Pair("RLS306_actor_critic", "Maze.reset=4x", (("for x in range(400) for", "for x in range(100) for"),)),
    Pair("RLS301_sb3_ppo", "evaluation=1/10", (("eval_freq=64", "eval_freq=640"),)),
    Pair("RLS301_sb3_sac", "evaluation=1/4", (("eval_freq=50", "eval_freq=200"),)),
    Pair("RLS302_sb3_ppo", "callback=1/8", ((_ON_STEP, _ON_STEP + _EACH.format(8)),)),
    Pair("RLS302_sb3_sac", "callback=1/4", ((_ON_STEP, _ON_STEP + _EACH.format(4)),)),
    Pair("RLS303_sb3_sac", "checkpoint=1/5", (("CheckpointCallback(5,", "CheckpointCallback(25,"),)),
    Pair("sb3_ppo", "environments=16", (("n_envs=4", "n_envs=16"), ("n_steps=256", "n_steps=64"))),
    Pair(
        "sb3_ppo", "environments=8", (("n_envs=1", "n_envs=8"), ("n_steps=1024", "n_steps=128")),
        prepared=(("n_envs=4", "n_envs=1"), ("n_steps=256", "n_steps=1024")),
    ),
    Pair("ppo_single_file", "environments=32", (("MINIBATCH = 8, 64,", "MINIBATCH = 32, 16,"),)),
    Pair("RLS401_ppo_single_file", "processes=1", (("AsyncVectorEnv", "SyncVectorEnv"),)),
    Pair(
        "RLS401_sb3_ppo", "processes=1", ((_IN_PROCESSES, ""),),
        prepared=((", vec_env_cls=SubprocVecEnv", _IN_PROCESSES),),
    ),
    Pair("vector_walkers", "processes=1", (("AsyncVectorEnv", "SyncVectorEnv"),)),
    Pair("ppo_single_file", "processes=8", (("SyncVectorEnv", "AsyncVectorEnv"),)),
    Pair(
        "sb3_ppo", "processes=4",
        ((_SB3, _SB3 + _VECTOR), ("seed=1)\n    model", f"seed=1{_IN_PROCESSES})\n    model")),
    ),
    Pair("RLS402_vector_walkers", "processes=2", (("SyncVectorEnv", "AsyncVectorEnv"),)),
)  # fmt: skip


def program_of(pair: Pair, is_edited: bool, folder: Path) -> Path:
    """Write a side of a pair into a folder, with a stopwatch of processor time."""
    script = written(pair.program, folder)
    text = replaced(script.read_text(), pair.prepared)
    script.write_text(with_stopwatch(replaced(text, pair.edit) if is_edited else text))
    return script


def forecast(pair: Pair) -> dict[str, Any]:
    """Record the program as it is, and return the record of the forecast."""
    environment = {**os.environ, **ENVIRONMENT, "PYTHONPATH": str(ROOT)}
    rlscope = [sys.executable, "-m", "rlscope"]
    with tempfile.TemporaryDirectory() as folder:
        script = program_of(pair, False, Path(folder))
        for words in (
            ["record", "-o", "trace", "--", sys.executable, script.name],
            ["forecast", "trace", "--json", "--change", pair.change],
        ):
            called = subprocess.run(
                [*rlscope, *words], cwd=folder, env=environment, capture_output=True, text=True, check=True
            )
    found: dict[str, Any] = json.loads(called.stdout)["forecasts"][0]
    return found


def measured(pair: Pair, times: int) -> list[float]:
    """Return how many times as fast the edited program is, by processor time, in turns."""
    factors = []
    for _ in range(times):
        seconds = [
            trained(lambda folder, each=each: program_of(pair, each, folder), "processor") for each in (False, True)
        ]
        factors.append(seconds[0] / seconds[1])
    return factors


def gain_error(said: float, found: float) -> float:
    """Return how many times as large or as small the gain was as it was said; infinite of a wrong sign."""
    gains = [factor - 1 if factor >= 1 else 1 - 1 / factor for factor in (said, found)]
    if gains[0] * gains[1] <= 0:
        return math.inf
    ratio = gains[1] / gains[0]
    return max(ratio, 1 / ratio)


def kept() -> Mapping[str, Mapping[str, Any]]:
    """Return what was measured, by pair."""
    found: Mapping[str, Mapping[str, Any]] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    return found


def keep(pair: Pair, said: Mapping[str, Any], factors: Sequence[float]) -> None:
    """Keep a pair."""
    factor = math.exp(sum(map(math.log, factors)) / len(factors))
    found = {name: said[name] for name in ("model", "factor", "loop_s", "saved_s")}
    found |= {"measured": factor, "lowest": min(factors), "highest": max(factors), "runs": len(factors)}
    rounded = {name: round(value, 3) if isinstance(value, float) else value for name, value in found.items()}
    KEPT.write_text(json.dumps({**kept(), pair.name: rounded}, indent=1, sort_keys=True) + "\n")


def page(pairs: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the page: a row for each pair, and of each model how many intervals held."""
    rows, held = [], {}
    for name, pair in sorted(pairs.items(), key=lambda each: (each[1]["model"], each[0])):
        others = [each for other, each in pairs.items() if other != name and each["model"] == pair["model"]]
        error = max((gain_error(each["factor"], each["measured"]) for each in others), default=1.0)
        low, high = interval_of(pair["factor"], error)
        held.setdefault(pair["model"], []).append(low <= pair["measured"] <= high)
        program, change = name.split(", ")
        rows.append(
            f"| {pair['model']} | {program} | `{change}` | {pair['factor']:.2f} | {pair['measured']:.2f} "
            f"({pair['lowest']:.2f} to {pair['highest']:.2f}) | {pair['factor'] / pair['measured'] - 1:+.0%} | "
            f"{gain_error(pair['factor'], pair['measured']):.2f} times | {'yes' if held[pair['model']][-1] else 'no'} |"
        )
    within = [abs(pair["factor"] / pair["measured"] - 1) for pair in pairs.values()]
    lines = [
        f"Of {len(pairs)} forecasts {sum(each <= 0.05 for each in within)} were off by 5 % or less, "
        f"{sum(each <= 0.1 for each in within)} by 10 % or less. Held: "
        + ", ".join(f"{model} {sum(found)} of {len(found)}" for model, found in held.items())
        + ".",
        "",
        "| model | program | change | forecast | measured | error | gain off | held |",
        "|---|---|---|---|---|---|---|---|",
        *rows,
    ]
    return HEAD + "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=3, help="runs of each side (0: write the page)")
    parser.add_argument("programs", nargs="*")
    arguments = parser.parse_args()
    os.environ.update(ENVIRONMENT)
    for module in MODULES:
        import_module(module)
    for pair in PAIRS if arguments.times else ():
        if arguments.programs and pair.program not in arguments.programs:
            continue
        try:
            keep(pair, forecast(pair), measured(pair, arguments.times))
        except (EOFError, subprocess.CalledProcessError) as error:
            print(pair.name, error, getattr(error, "stderr", ""), file=sys.stderr)
        print(pair.name, kept().get(pair.name, ""), flush=True)
    PAGE.write_text(page(kept()))


if __name__ == "__main__":
    main()
