"""This file judges the artifact itself by what was said of the paper's: its figures, its devices, its dependencies."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from experiments import CHECKOUT
from experiments.harness.case_study import CaseStudy
from experiments.harness.machine import machine_and_gpus
from experiments.verdicts.claims import Verdict, judge, load_claims
from experiments.verdicts.kept_verdicts import MEASURED
from experiments.verdicts.other_machines import MACHINE
from experiments.verdicts.statistics import Estimate, count_of
from rlscope.plots.figure_files import FIGURE_FORMATS

CLAIMS = Path(__file__).with_name("artifact_claims.toml")
SUBJECT = "the artifact"
#: Each under any of its names: where PyBullet has no package, MuJoCo's robots are drawn.
PUBLISHED = (
    ("figure_4_framework_comparison",),
    ("figure_5_algorithm_choice", "fig_algorithm_choice_mujoco"),
    ("figure_7_simulator_choice", "fig_simulator_choice_mujoco"),
)
OTHER = (("figure_8_scale_up",), ("figure_11_overhead_correction",))
#: Records a trace with what rlscope brings along, and analyzes it; prints how many frameworks are loaded by then.
WITHOUT_A_FRAMEWORK = """
import sys, tempfile
import rlscope
from rlscope.analysis.analysis import analyze
from rlscope.plots.breakdown import breakdown_figure
from rlscope.trace.reader import open_trace

with tempfile.TemporaryDirectory() as directory:
    with rlscope.profile(output=directory + "/trace"), rlscope.operation("step"):
        pass
    analyze(open_trace(directory + "/trace"))
print(sum(framework in sys.modules for framework in ("torch", "tensorflow", "jax")))
"""
#: Of the command that is recorded with counters: another one than the recorder's own.
STATUS = 7


def verdicts_on_artifact(studies: Sequence[CaseStudy]) -> list[Verdict]:
    """Judge the claims by what the studies have left, and by two small recordings."""
    outputs = [study.output for study in studies]
    measured = {
        "published_figures": count_of(sum(is_drawn(names, outputs) for names in PUBLISHED)),
        "other_figures": count_of(sum(is_drawn(names, outputs) for names in OTHER)),
        "devices": count_of(len(devices())),
        "frameworks_loaded": count_of(int(run_python("-c", WITHOUT_A_FRAMEWORK).stdout)),
    }
    return judge(load_claims(CLAIMS), {SUBJECT: measured | counters_refused()}, "cpu", studies[0].is_provisional)


def is_drawn(names: Sequence[str], outputs: Sequence[Path]) -> bool:
    """Return whether a figure is there in every format, with its numbers beside it."""
    return any(
        all((output / f"{name}.{suffix}").exists() for suffix in (*FIGURE_FORMATS, "csv"))
        for name in names
        for output in outputs
    )


def devices() -> set[str]:
    """Return the kinds of device of which there are results: this machine's, and those that are kept."""
    others = [
        json.loads(path.read_text())["machine"] for path in CHECKOUT.glob(f"experiments/*/{MEASURED}/*/{MACHINE}")
    ]
    return {name for found in [machine_and_gpus(), *others] for name in names_of(found)}


def names_of(found: Mapping[str, object]) -> list[str]:
    """Return the names of a machine's GPUs, or of its processor where it has none."""
    gpus = found.get("gpus")
    return list(gpus) if isinstance(gpus, list) else [str(found["cpu"])]


def counters_refused() -> dict[str, Estimate]:
    """Return whether a recording that asks for counters says why there are none, and goes on; nothing where they
    are read.
    """
    with tempfile.TemporaryDirectory() as trace:
        command = [sys.executable, "-c", f"raise SystemExit({STATUS})"]
        ended = run_python("-m", "rlscope", "record", "--counters", "sm_efficiency", "-o", trace, "--", *command)
        if list(Path(trace).glob("counters-*")):
            return {}
    reasons = [line for line in ended.stderr.splitlines() if line.startswith("rlscope: counters were not all read: ")]
    return {"counters_refused": count_of(int(len(reasons) == 1 and ended.returncode == STATUS))}


def run_python(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run this Python with these arguments, with the installed rlscope and not the checkout's."""
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd="/", check=False)
