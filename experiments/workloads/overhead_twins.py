"""Train with Stable-Baselines3 in four processes that take turns: one not recorded, three recorded with growing cost.

The processes are twins (rlscope/calibration/twins.py): they do the same work from the same seed, burst by burst, and
swap roles, so what a burst takes longer than that of the one not recorded is what recording added to it. Leaves the
traces of the other roles in `--output`, and the lengths of all bursts there in bursts.json.

    python overhead_twins.py --algo a2c --burst-steps 16 --bursts 2 --swaps 2 --settling 6 --seconds 60
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.type_aliases import TrainFreq
from stable_baselines3_train import make_agent, make_parser, parsed
from vector_environment import register

from rlscope.calibration.twins import Twin, run_twins
from rlscope.record.config import RecordConfig

#: By name; the cost of each record is amplified so often. What is recorded is what `rlscope record` records by default.
TWINS = {"off": Twin()} | {f"x{times}": Twin(RecordConfig(), times) for times in (1, 4, 16)}


class EndBursts(BaseCallback):
    """Ends a burst every so many steps of the environments. An update belongs to the burst that begins before it."""

    def __init__(self, tick: Callable[[], None], steps: int, warm_up_steps: int) -> None:
        super().__init__()
        self._tick = tick
        self._steps = steps
        self._warm_up_steps = warm_up_steps

    def _on_step(self) -> bool:
        if self.n_calls >= self._warm_up_steps and self.n_calls % self._steps == 0:
            self._tick()
        return True


def steps_of_iteration(agent: BaseAlgorithm) -> int:
    """Return the steps of the environments, all at once, from one update to the next."""
    if isinstance(agent, OnPolicyAlgorithm):
        return agent.n_steps
    assert isinstance(agent, OffPolicyAlgorithm) and isinstance(agent.train_freq, TrainFreq)
    return agent.train_freq.frequency


def parse() -> argparse.Namespace:
    """Return the command line."""
    parser = make_parser(__doc__)
    parser.add_argument("--burst-steps", type=int, required=True, help="steps of the environments in a burst")
    parser.add_argument("--bursts", type=int, required=True, help="after which the same kinds of work come again")
    parser.add_argument("--warm-up-steps", type=int, default=0, help="steps before the first burst")
    parser.add_argument("--swaps", type=int, required=True, help="how often each process takes each role")
    parser.add_argument("--settling", type=int, required=True, help="bursts to leave out whenever roles were swapped")
    parser.add_argument("--seconds", type=float, required=True, help="to measure, besides those")
    parser.add_argument("--output", type=Path, default=Path("trace"), help="a directory (default: trace)")
    return parsed(parser)


def main() -> None:
    """Run the twins, and write what they took."""
    arguments = parse()
    torch.set_num_threads(1)
    register(arguments.env)  # before the twins part, as all that is imported

    has_device = arguments.device != "cpu"

    def train(tick: Callable[[], None]) -> None:
        agent = make_agent(arguments)
        if arguments.burst_steps * arguments.bursts % steps_of_iteration(agent):
            raise ValueError(
                f"expected --burst-steps times --bursts to be a multiple of the {steps_of_iteration(agent)} steps of "
                f"an iteration, found {arguments.burst_steps} times {arguments.bursts}"
            )

        def end_burst() -> None:
            if has_device:
                torch.cuda.synchronize()
            tick()

        callback = EndBursts(end_burst, arguments.burst_steps, arguments.warm_up_steps)
        agent.learn(arguments.total_timesteps, callback=callback)
        raise RuntimeError("the whole training is over before --seconds are")

    lengths_ns = run_twins(
        TWINS,
        train,
        arguments.output,
        arguments.seconds,
        arguments.swaps,
        arguments.settling,
        arguments.bursts,
        has_device,
    )
    found = {
        "bursts": arguments.bursts,
        "lengths_ns": {name: lengths.tolist() for name, lengths in lengths_ns.items()},
    }
    (arguments.output / "bursts.json").write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
