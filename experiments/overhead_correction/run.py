"""Overhead correction: what recording adds to eight workloads, and whether correction takes off just that.

python -m experiments.overhead_correction.run --budget quick --output output/artifacts/experiment_overhead_correction
"""

import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.command_line import Outcome, command_line
from experiments.harness.case_study import WORKLOADS, CaseStudy, hardware
from experiments.harness.execute import Run, variables_of
from experiments.harness.progress import Workload
from experiments.overhead_correction.figures import overhead_figure
from experiments.overhead_correction.measurements import (
    AMPLIFIED,
    ON,
    SOURCES,
    Draws,
    Overhead,
    draws_of,
    estimate_of,
    overhead_of,
)
from experiments.verdicts.claims import (
    HOLDS,
    NOT_TESTABLE,
    UNDECIDED,
    Claim,
    Verdict,
    judge,
    load_claims,
)
from experiments.verdicts.deciding import deciding
from experiments.verdicts.intervals import caption_of, readable
from experiments.verdicts.published import Published
from experiments.verdicts.results import executed_of
from experiments.verdicts.run_pages import add_runs
from experiments.verdicts.statistics import EVENTS, Estimate
from experiments.verdicts.study_page import ShownFigure, StudyPage
from rlscope.analysis.correction.corrected import Correction
from rlscope.calibration.calibration import AUTO, chosen
from rlscope.errors import UsageError
from rlscope.trace.reader import Trace, open_trace

HERE = Path(__file__).parent
FIGURE = "figure_11_overhead_correction"
CAPTION = (
    "Overhead correction. Above the bars: bias, what correction leaves (+) or takes too much (-). Below: what "
    "correction takes off, by source, beside what was measured."
)
METHOD = (
    "Each workload trains in four processes that do the same work from the same seed and take turns, burst by burst: "
    "one is not recorded, one is recorded as by `rlscope record`, and in two the work of each record is done 4 and 16 "
    "times. What a burst takes longer than the same burst of the first process is what recording added; what "
    "correction takes off follows from the traces and the calibration alone, which never saw these workloads. "
    "Bursts that something disturbed count like all others; what is added without the extreme ones is shown beside. "
    "Intervals of 95 % are from resampling runs and iterations, for the correction by this calibration. That of a "
    "corrected time also holds the calibration's own."
)
PANELS = {"algorithm": "RL algorithm (Walker2D)", "simulator": "Simulator (PPO)"}
SUBJECT = "all workloads"
#: Measured only where some workload's overhead is known to a fifth.
REMOVED = "smallest_removed_percent"
#: Of what correction leaves. Where recording adds little they would hold with no correction at all, which says nothing.
LEFT = ("largest_bias_percent", "median_bias_percent", "largest_disagreement_percent")


def run(study: CaseStudy) -> Outcome:
    """Run the twins, analyze their traces, draw and judge."""
    executed, failures = executed_of(study)
    missing = [*study.left_out, *failures]
    found: dict[Workload, list[Overhead]] = defaultdict(list)
    by_whole_runs: dict[Workload, list[Overhead]] = defaultdict(list)
    corrections: dict[str, Correction] = {}
    for study_run, execution in executed:
        workload, trace = study_run.workload, open_trace(execution.trace / ON)
        correction = correction_of(trace, execution.run, study.output)
        corrections[correction.source] = correction
        found[workload].append(overhead_of(workload, execution.trace, correction))
        correction = published_correction(trace, execution.run, study)
        corrections[correction.source] = correction
        by_whole_runs[workload].append(overhead_of(workload, execution.trace, correction))
    draws, published = (
        draws_of({name_of(workload): runs for workload, runs in of_method.items()})
        for of_method in (found, by_whole_runs)
    )
    workloads = {name_of(workload): workload for workload in found}
    panels = {group.name: group.panel for group in study.groups}

    page = StudyPage("Case study: overhead correction", study.output, METHOD, *missing)
    for source in corrections:
        page.paragraph(f"Calibration: {source}.")
    table = overhead_table(draws, published, {name: panels[workload.group] for name, workload in workloads.items()})
    labels = {name: workload.label for name, workload in workloads.items()}
    paper = Published(HERE)
    study.save_figure(FIGURE, overhead_figure(table, labels, PANELS, paper.outlines(FIGURE)), table)
    page.show(ShownFigure(FIGURE, caption_of(paper.caption(FIGURE, CAPTION), table)))
    page.numbers("What recording adds and correction takes off", readable(table))
    add_runs(page, [(study_run.workload, execution.trace / ON) for study_run, execution in executed])

    groups = {name: workload.kind for name, workload in workloads.items()}
    measured = measurements(draws, groups) | {"operation_us": operation_us(next(iter(corrections.values())))}
    uncorrected = measurements({name: found.uncorrected for name, found in draws.items()}, groups)
    claims = load_claims(HERE / "claims.toml")
    verdicts = deciding(verdicts_of(claims, measured, uncorrected, study.is_provisional, bool(missing)), study)
    page.claims(verdicts)
    page.write(study.output / "index.html")
    return Outcome(verdicts, missing, [execution for _, execution in executed], page.figures)


def name_of(workload: Workload) -> str:
    """Return the workload's name in tables: "PPO Walker2D"."""
    return f"{workload.name} {workload.group}"


def correction_of(trace: Trace, recorded: Run, output: Path) -> Correction:
    """Return what a user's analysis of this trace would correct it with; without a calibration there, one made here."""
    found = chosen(trace, AUTO)
    return found if isinstance(found, Correction) else kept_correction(trace, recorded, output / "calibration.json", [])


def published_correction(trace: Trace, recorded: Run, study: CaseStudy) -> Correction:
    """Return the published correction, which calibrates on whole runs of a program that is none of the workloads."""
    budget = study.matrix.budget(study.budget)
    script = [str(recorded.python), str(WORKLOADS / "stable_baselines3_train.py"), *budget.whole_runs_of]
    command = [*script, "--device", recorded.device]
    options = ["--whole-runs", "--repetitions", str(budget.whole_runs), "--", *command]
    return kept_correction(trace, recorded, study.output / "calibration_by_whole_runs.json", options)


def kept_correction(trace: Trace, recorded: Run, calibration: Path, options: Sequence[str]) -> Correction:
    """Return the calibration in a file; measured, if there is none, or if it is of something else."""
    try:
        found = chosen(trace, str(calibration))
    except UsageError:
        calibrate(recorded, calibration, options)
        found = chosen(trace, str(calibration))
    assert isinstance(found, Correction)
    return found


def calibrate(recorded: Run, calibration: Path, options: Sequence[str]) -> None:
    """Measure costs as a user would, in the Python and the environment of the run."""
    print(f"rlscope: measuring what recording costs into {calibration}, two minutes", file=sys.stderr)
    command = [str(recorded.python), "-m", "rlscope", "calibrate", "--force", "-o", str(calibration), *options]
    ended = subprocess.run(
        command, env=variables_of(recorded), cwd=calibration.parent, capture_output=True, text=True, check=False
    )
    if ended.returncode != 0:
        raise UsageError(
            f"expected a calibration of this machine, found: {ended.stderr.strip() or ended.stdout.strip()}"
        )


def overhead_table(
    draws: Mapping[str, Draws], published: Mapping[str, Draws], panels: Mapping[str, str]
) -> pd.DataFrame:
    """Return the table behind the figure: a row for each workload, times in percent of that without recording.

    Returns:
        workload, panel, iterations, iteration_ms (without recording), unrecorded (100), added (what recording adds),
        the same trimmed, what of it correction takes off by source, corrected, corrected of the amplified twins, bias,
        by how much correction comes nearer, bias by the published method; and removed, in percent of added, where that
        is measurable. Measured columns have others with the ends of their intervals.
    """
    rows = []
    for name, found in draws.items():
        corrected = {
            twin: 100 + found.percent(found.added_s[twin] - found.removed_s[twin]) for twin in (ON, *AMPLIFIED)
        }
        row: dict[str, object] = {"workload": name, "panel": panels[name], "iterations": found.iterations}
        row |= found.estimate(1000 * found.off_s).columns("iteration_ms") | {"unrecorded_percent": 100.0}
        row |= found.estimate(found.percent(found.added_s[ON])).columns("added_percent")
        row |= found.estimate(found.percent(found.added_trimmed_s)).columns("added_trimmed_percent")
        row |= {f"{source}_percent": float(found.percent(found.sources_s[source])[0]) for source in SOURCES}
        row |= found.estimate(corrected[ON]).columns("corrected_percent")
        for twin in AMPLIFIED:
            row |= found.estimate(corrected[twin]).columns(f"corrected_{twin}_percent")
        row |= found.estimate(found.bias_percent).columns("bias_percent")
        row |= found.estimate(found.nearer_percent).columns("nearer_percent")
        row |= published[name].estimate(published[name].bias_percent).columns("published_bias_percent")
        row |= found.estimate(found.removed_percent).columns("removed_percent") if found.is_measurable else {}
        rows.append(row)
    return pd.DataFrame(rows)


@np.errstate(divide="ignore", invalid="ignore")  # where sources cost nothing, their ratios are no numbers
def measurements(draws: Mapping[str, Draws], groups: Mapping[str, str]) -> dict[str, Estimate]:
    """Return the metrics of claims.toml over all workloads; none of those whose workloads could not be run.

    Args:
        draws: by workload.
        groups: on-policy or off-policy, by workload.
    """
    repeated = min(found.repeated for found in draws.values())

    def over(values: Sequence[np.ndarray], choose: np.ufunc) -> Estimate:
        return estimate_of(choose.reduce(np.array(values)), *repeated)

    biases = np.array([abs(found.bias_percent) for found in draws.values()])
    nearer = np.array([found.nearer_percent for found in draws.values()])
    measured = {
        "largest_bias_percent": estimate_of(biases.max(axis=0), *repeated),
        "median_bias_percent": estimate_of(np.median(biases, axis=0), *repeated),
        "smallest_nearer_percent": estimate_of(nearer.min(axis=0), *repeated),
        "median_nearer_percent": estimate_of(np.median(nearer, axis=0), *repeated),
        "largest_disagreement_percent": over([each.disagreement_percent for each in draws.values()], np.maximum),
        "smallest_inflation": over([each.inflation for each in draws.values()], np.minimum),
        "largest_operation_percent": over(
            [each.percent(each.sources_s["operation"]) for each in draws.values()], np.maximum
        ),
    }
    measurable = [each.removed_percent for each in draws.values() if each.is_measurable]
    if measurable:
        measured[REMOVED] = over(measurable, np.minimum)
    on_policy = [each.sources_s for name, each in draws.items() if groups[name] == "on-policy"]
    if on_policy:
        ratios = [sources["simulator"] / (sources["backend"] + sources["cuda"]) for sources in on_policy]
        measured["smallest_on_policy_simulator_to_backend"] = over(ratios, np.minimum)
    off_policy = [each.sources_s for name, each in draws.items() if groups[name] == "off-policy"]
    if off_policy:
        ratios = [(sources["backend"] + sources["cuda"]) / sources["simulator"] for sources in off_policy]
        measured["smallest_off_policy_backend_to_simulator"] = over(ratios, np.minimum)
    return measured


def operation_us(correction: Correction) -> Estimate:
    """Return what one operation costs, by the calibration."""
    cost = correction.cost_of("operation")
    total = cost.total_ns
    return Estimate(total.mean / 1000, total.low / 1000, total.high / 1000, cost.events, EVENTS)


def verdicts_of(
    claims: Sequence[Claim],
    measured: Mapping[str, Estimate],
    uncorrected: Mapping[str, Estimate],
    provisional: bool,
    left_out: bool,
) -> list[Verdict]:
    """Judge the claims; those about correction only by what no correction at all would not show as well.

    Args:
        claims: to judge.
        measured: by metric.
        uncorrected: the same of the same runs, if nothing were taken off.
        provisional: whether the budget was too small to rely on the verdicts.
        left_out: whether workloads are missing.
    """
    judged = [claim for claim in claims if claim.metric != REMOVED or REMOVED in measured]
    remark = "in no workload is what recording adds known to a fifth; a larger budget, or a machine at rest, would tell"
    return [
        without_idle_praise(verdict, uncorrected)
        for verdict in judge(judged, {SUBJECT: measured}, hardware(), provisional, left_out)
    ] + [Verdict(claim, SUBJECT, NOT_TESTABLE, None, provisional, remark) for claim in claims if claim not in judged]


def without_idle_praise(verdict: Verdict, uncorrected: Mapping[str, Estimate]) -> Verdict:
    """Return undecided instead of what would hold with no correction at all."""
    claim = verdict.claim
    if verdict.verdict != HOLDS or claim.metric not in LEFT or claim.verdict_on(uncorrected[claim.metric]) != HOLDS:
        return verdict
    remark = (
        f"would hold with no correction at all: {claim.measured_text(uncorrected[claim.metric])}; a workload to which "
        "recording adds more would decide it"
    )
    return replace(verdict, verdict=UNDECIDED, remark=remark)


if __name__ == "__main__":
    sys.exit(command_line(__doc__, HERE, run))
