"""Sample from many environments at once, in one of several ways, and update a policy in turn with it.

    python sample.py --sampler sb3_subproc --environments 24 --steps 100 --iterations 3

Timed environments sleep as long as they are told to, so that there may be more of them than cores; which of their
steps end an episode is drawn from the seed (timed_environment.py), and can be drawn again. What a sampler itself needs
adds to each step: on two cores, a step of 3 ms takes 24 workers that act for themselves about 10 ms. There, times are
to be longer, with the same ratio and the same probability: with --step-ms 15 --reset-ms 500, sampling takes about a
tenth longer than the sleeps.

Prints one line of JSON at its end. A worker that is lost is named in a line on standard error and in "lost_workers",
and the others go on; with none left, the status is 1.
"""

import argparse
import contextlib
import json
import math
import os
import signal
import sys

from option_types import seed, whole
from sampling.settings import Settings
from timed_environment import Timing

SAMPLERS = ("sb3_dummy", "sb3_subproc", "gymnasium_async", "free", "rllib")
#: Those in which all environments wait for each other.
LOCK_STEP = ("sb3_dummy", "sb3_subproc", "gymnasium_async")
#: As published: with 24 environments in lock-step, a step takes 24 ms.
STEP_S, RESET_S, RESET_PROBABILITY = 0.003, 0.1, 0.0098


def milliseconds(text: str) -> float:
    """Return a time, as an option; in seconds."""
    with contextlib.suppress(ValueError):
        if 0 < (number := float(text)) < math.inf:
            return number / 1000
    raise argparse.ArgumentTypeError(f"expected a number of milliseconds above 0, found {text!r}")


def probability(text: str) -> float:
    """Return a probability, as an option."""
    with contextlib.suppress(ValueError):
        if 0 <= (number := float(text)) <= 1:
            return number
    raise argparse.ArgumentTypeError(f"expected a probability from 0 to 1, found {text!r}")


def parse() -> Settings:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--sampler", choices=SAMPLERS, required=True)
    add("--environments", type=whole, default=24, metavar="N", help="default: 24")
    add(
        "--environments-per-worker",
        type=whole,
        metavar="E",
        help="that wait for each other in every step; default: all in lock-step samplers, 1 in the others",
    )
    add("--steps", type=whole, default=100, metavar="T", help="of each environment in an iteration (default: 100)")
    add("--iterations", type=whole, default=3, help="default: 3")
    add("--environment", choices=("timed", "real"), default="timed", help="real: a drone in PyFlyt's simulator")
    add("--step-ms", type=milliseconds, help="of a timed environment (default: 3)")
    add("--reset-ms", type=milliseconds, help="in addition, after an episode (default: 100)")
    ends = parser.add_mutually_exclusive_group()
    ends.add_argument("--reset-probability", type=probability, help="that a step ends its episode (default: 0.0098)")
    ends.add_argument("--episode-length", type=whole, metavar="L", help="in steps")
    add("--phase", choices=("together", "random"), help="of episodes that have a length (default: random)")
    add("--optimize-ms", type=milliseconds, help="that optimising takes at least (default: as long as it takes)")
    add("--seed", type=seed, default=0, help="default: 0")
    add("--cluster", action="store_true", help="rllib: two Ray nodes on this machine instead of one")
    arguments = parser.parse_args()
    check(parser, arguments)
    together = environments_per_worker(arguments)
    return Settings(
        sampler=arguments.sampler,
        environments=arguments.environments,
        environments_per_worker=together,
        steps=arguments.steps,
        iterations=arguments.iterations,
        timing=timing(arguments) if arguments.environment == "timed" else None,
        optimize_s=arguments.optimize_ms,
        seed=arguments.seed,
        is_cluster=arguments.cluster,
    )


def environments_per_worker(arguments: argparse.Namespace) -> int:
    """Return E, how many environments each group has."""
    every: int = arguments.environments
    return arguments.environments_per_worker or (every if arguments.sampler in LOCK_STEP else 1)


def check(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """End the program where options do not go together."""
    environments, together = arguments.environments, environments_per_worker(arguments)
    if arguments.sampler in LOCK_STEP and together != environments:
        parser.error(
            f"--environments-per-worker: expected {environments}, as all environments of {arguments.sampler} wait for "
            f"each other, found {together}; leave it out, or take another sampler"
        )
    if environments % together:
        parser.error(
            f"--environments-per-worker: expected a divisor of {environments}, the number of environments, found "
            f"{together}"
        )
    if arguments.phase is not None and arguments.environment == "timed" and arguments.episode_length is None:
        parser.error(
            f"expected --episode-length with --phase {arguments.phase}, found none: only such episodes have one"
        )
    if arguments.cluster and arguments.sampler != "rllib":
        parser.error(f"expected --sampler rllib for --cluster, found {arguments.sampler}")
    if arguments.environment == "real":
        for name in ("step_ms", "reset_ms", "reset_probability", "episode_length", "phase"):
            if getattr(arguments, name) is not None:
                option = "--" + name.replace("_", "-")
                parser.error(f"expected --environment timed for {option}, found real, which takes its own time")


def timing(arguments: argparse.Namespace) -> Timing:
    """Return the timing of timed environments."""
    chance = arguments.reset_probability
    if chance is None and arguments.episode_length is None:
        chance = RESET_PROBABILITY
    return Timing(
        arguments.step_ms or STEP_S,
        arguments.reset_ms or RESET_S,
        chance,
        arguments.episode_length,
        arguments.phase or "random",
    )


def note_cores(settings: Settings) -> None:
    """Say so if there are more workers than cores."""
    cores = len(os.sched_getaffinity(0))
    if settings.environments > cores:
        why = "those that sleep need few" if settings.timing else "they wait for cores too, not only for each other"
        print(f"sample.py: note: {settings.environments} environments on {cores} cores: {why}", file=sys.stderr)


def main() -> int:
    """Run as the command line says."""
    settings = parse()
    note_cores(settings)
    import torch  # only now: a mistake on the command line is told at once
    from sampling.loss import AllLostError
    from sampling.measure import measure

    torch.set_num_threads(1)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # its processes end with it
    try:
        result = measure(settings)
    except AllLostError:
        print("sample.py: all workers are lost, nothing samples any more", file=sys.stderr)
        return 1
    except TimeoutError as error:
        print(f"sample.py: {error}", file=sys.stderr)
        return 1
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
