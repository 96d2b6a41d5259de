"""TD3 of Walker2d-v5 in PyTorch and JAX on this machine's GPU, corrected where `rlscope calibrate` was run before.

    python -m tests.gpu.frameworks OUTPUT

Records each stack three times, in about six minutes, and leaves OUTPUT/kept, which goes to
experiments/RL_framework_comparison/measured/NAME. A stack whose package is missing is skipped.
"""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from experiments.harness.case_study import WORKLOADS
from experiments.harness.execute import versions
from experiments.harness.interpreters import built_from_of
from experiments.harness.machine import machine_and_gpus
from experiments.harness.matrix import Entry, load_matrix
from experiments.RL_framework_comparison.measurements import KEPT_FIELDS, Measurements, file_of
from experiments.RL_framework_comparison.run import HERE

STACKS = ("pytorch_eager", "pytorch_compiled", "jax_jit", "jax_loop")
TRAINING = ("--algo", "td3", "--env", "Walker2d-v5", "--warm-up", "1000", "--stop-after", "3000")
REPETITIONS = 3
RLSCOPE = (sys.executable, "-m", "rlscope")


def main() -> None:
    """Measure on the GPU; the exit status says whether all went well."""
    output = Path(sys.argv[1]).resolve()
    output.mkdir(parents=True, exist_ok=True)
    sys.exit(int(not measure(output, "cuda", TRAINING, REPETITIONS)))


def measure(output: Path, device: str, training: Sequence[str], repetitions: int) -> bool:
    """Record and analyze each stack that is installed.

    Repetitions are the outer loop, so that a machine that gets slower meanwhile slows all stacks alike.

    Returns:
        Whether all of these runs have ended well.
    """
    kept = output / "kept"
    entries = [entry for entry in load_matrix(HERE / "runs.toml").entries if entry.name in STACKS]
    for entry in entries:
        if not find_spec(entry.package):
            print(f"{entry.name} is skipped: the package {entry.package} is not installed", flush=True)
    python = Path(sys.executable)
    Measurements(
        device=device,
        budget="quick",
        command="scripts/gpu_suite.sh OUTPUT frameworks",
        date=time.strftime("%Y-%m-%d", time.gmtime()),
        machine=machine_and_gpus(),
        versions={name: version for name, version in versions(python).items() if version[0].isdigit()},
        recorders=[built_from_of(python)],
        results=(),
    ).save(kept)
    ended = True
    for repetition in range(repetitions):
        for entry in entries:
            if find_spec(entry.package):
                name = file_of(entry.name, repetition)
                document = analysis_of(output, entry, [*training, "--device", device, "--seed", str(repetition)])
                if document:
                    (kept / name).write_text(json.dumps({key: document[key] for key in KEPT_FIELDS}, indent=1) + "\n")
                ended &= bool(document)
                print(f"{name}: {'analyzed' if document else 'FAILED'}", flush=True)
    return ended


def analysis_of(output: Path, entry: Entry, training: Sequence[str]) -> dict[str, Any]:
    """The analysis of one run; empty if the run failed."""
    script = [sys.executable, str(WORKLOADS / entry.script), *entry.arguments, *training]
    if run([*RLSCOPE, "record", "--force", "-o", "trace", "--", *script], output) is None:
        return {}
    printed = run([*RLSCOPE, "analyze", "trace", "--json"], output)
    document: dict[str, Any] = json.loads(printed) if printed else {}
    return document


def run(command: Sequence[str], directory: Path) -> str | None:
    """What a command prints, in a directory, so that paths in what it leaves are short; None if it failed."""
    ended = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    if ended.returncode != 0:
        print(f"{' '.join(command)} ended with {ended.returncode}:\n{ended.stderr[-2000:]}", flush=True)
        return None
    return ended.stdout


if __name__ == "__main__":
    main()
