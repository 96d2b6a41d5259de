"""This file keeps what `rlscope analyze --json` says of frameworks on a machine with a GPU, for those without one."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.harness.matrix import Entry
from experiments.harness.progress import Workload
from experiments.verdicts import other_machines
from experiments.verdicts.claims import Claim, Verdict, judge
from experiments.verdicts.corrected import caveats_of
from experiments.verdicts.other_machines import Measured
from experiments.verdicts.results import Result, by_workload, cuda_to_gpu, folded_result, gpu_percent, over_calibration
from experiments.verdicts.statistics import Estimate, estimated_mean
from rlscope.analysis.correction.corrected import AppliedCorrection
from rlscope.model import COMPILE

#: What of an analysis is kept: all that results and an owner path need, and whether the recording was whole.
KEPT_FIELDS = (
    "schema", "complete", "dropped_events", "processes", "breakdown", "transitions", "gpu", "gpu_operations",
    "iterations", "timesteps", "total_timesteps", "correction", "uncorrected",
)  # fmt: skip
#: The algorithm of all that is kept, and its group in runs.toml.
SUBJECT = "TD3"


@dataclass(frozen=True)
class Measurements(Measured):
    """The frameworks of a machine, and where they come from; seconds are of the recorded training without compiling."""

    results: Sequence[Result]

    def verdicts_on(self, claims: Sequence[Claim], metrics: Mapping[str, Estimate]) -> list[Verdict]:
        """Return the claims that need a GPU, judged by what this machine has measured."""
        judged = judge(
            [claim for claim in claims if claim.hardware == self.hardware and claim.metric in metrics],
            {f"{SUBJECT}, {self.device_name}": metrics},
            self.hardware,
            self.is_provisional,
            caveats=caveats_of(self.results),
        )
        return [replace(found, remark="; ".join(filter(None, [found.remark, self.remark]))) for found in judged]

    def table(self) -> pd.DataFrame:
        """Return what the claims are about: a row for each workload, with intervals of 95 %.

        Returns:
            workload; training_s and uncorrected_training_s, of the recorded training; gpu_percent, the share in which
            the GPU was busy; cuda_to_gpu, seconds inside CUDA calls over those, whose interval holds that of the
            calibration; repetitions.
        """
        rows = []
        for workload, runs in by_workload(self.results).items():
            row: dict[str, object] = {"workload": workload.name}
            row |= estimated_mean([run.training_s for run in runs]).columns("training_s")
            row["uncorrected_training_s"] = sum(run.table["uncorrected_seconds"].sum() for run in runs) / len(runs)
            row |= estimated_mean([gpu_percent(run) for run in runs]).columns("gpu_percent")
            rows.append(row | mean_cuda_to_gpu(runs).columns("cuda_to_gpu") | {"repetitions": len(runs)})
        return pd.DataFrame(rows)


def mean_cuda_to_gpu(runs: Sequence[Result]) -> Estimate:
    """Return the mean ratio of seconds inside CUDA calls to those with a GPU busy."""
    return over_calibration(lambda end: estimated_mean([cuda_to_gpu(run, end) for run in runs]))


def file_of(workload: str, repetition: int | str) -> str:
    """Return the name of the file that holds an analysis."""
    return f"{workload}_{repetition}.json"


def load(directory: Path, entries: Sequence[Entry]) -> Measurements:
    """Return the analyses that a machine has left.

    Args:
        directory: with files as `file_of` names them.
        entries: the workloads of runs.toml; those of which there is no file were not run.

    Raises:
        UsageError: One is damaged.
    """
    found = {path: entry for entry in entries for path in sorted(directory.glob(file_of(entry.name, "?")))}

    def make(paths: Sequence[Path], origin: dict[str, Any]) -> Measurements:
        return Measurements(
            **origin, results=[result_in(path, entry) for path, entry in zip(paths, found.values(), strict=True)]
        )

    return other_machines.load(directory, [path.name for path in found], make)


def result_in(path: Path, entry: Entry) -> Result:
    """Return the result that a file holds: of the main process, without compiling."""
    document = json.loads(path.read_text())
    main = {process["process"] for process in document["processes"] if process["role"] == "main"}
    rows = [row for row in document["breakdown"] if row["process"] in main and row["operation"] != COMPILE]
    correction = document["correction"]
    return folded_result(
        Workload(entry.name, entry.label, SUBJECT, entry.kind),
        pd.DataFrame(rows),
        AppliedCorrection(**correction) if correction else None,
        document["uncorrected"],
        document["timesteps"],
        tells_no_core=document.get("cores", {}).get("no_core_share") is not None,
    )
