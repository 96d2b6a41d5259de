"""How well the stages of an unmodified GRPO loop are known, guessed and named, beside the loop's own stopwatch.

    python -m tests.gpu.grpo OUTPUT

Leaves grpo.json in OUTPUT, in two minutes. Needs transformers; runs on the GPU if there is one.
"""

import json
import sys
from pathlib import Path
from typing import Any

from tests.gpu.recorded_program import beside_analysis

LOOP = Path(__file__).parent / "programs" / "grpo_loop.py"
PHASED = Path(__file__).parent / "programs" / "grpo_loop_in_phases.py"
NAMED = (
    "--operation", "inference/generate=transformers:GenerationMixin.generate",
    "--operation", "simulation/reward=__main__:Judge.score",
)  # fmt: skip
REPETITIONS = 3
STEPS = ("--steps", "8")


def seconds(analysis: dict[str, Any], **wanted: str) -> float:
    """The breakdown's time in the rows that have the wanted columns."""
    rows = analysis["breakdown"]
    return sum(row["seconds"] for row in rows if all(row[column] == value for column, value in wanted.items()))


def guessed(output: Path, repetition: int) -> dict[str, float]:
    """Of the time of generation, the share in percent that each stage has when nobody names any."""
    _, analysis = beside_analysis(output / "traces" / f"guessed_{repetition}", (PHASED, *STEPS))
    whole = seconds(analysis, phase="generation")
    stages = ("inference", "backpropagation", "simulation", "(none)")
    return {stage: 100 * seconds(analysis, phase="generation", stage=stage) / whole for stage in stages}


def named(output: Path, repetition: int) -> dict[str, float]:
    """By how many percent the named operations differ from the stopwatch."""
    watched, analysis = beside_analysis(output / "traces" / f"named_{repetition}", (LOOP, *STEPS), NAMED)
    found = {
        "generation": seconds(analysis, operation="generate"),
        "reward": seconds(analysis, operation="reward"),
    }
    return {name: 100 * (found[name] / watched[name] - 1) for name in found}


def main() -> None:
    """Run the loop several times in each way, and keep what was found."""
    output = Path(sys.argv[1])
    output.mkdir(parents=True, exist_ok=True)
    found = {
        "command": "python -m tests.gpu.grpo OUTPUT",
        "share_of_generation_percent": [guessed(output, repetition) for repetition in range(REPETITIONS)],
        "named_beside_stopwatch_percent": [named(output, repetition) for repetition in range(REPETITIONS)],
    }
    (output / "grpo.json").write_text(json.dumps(found, indent=2) + "\n")
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
