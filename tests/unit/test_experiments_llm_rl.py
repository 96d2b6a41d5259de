"""What the study of language models makes of recorded trainings: exact numbers of made-up runs, figures, verdicts."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from executed_runs import leave_run, on
from matplotlib.axes import Axes

from benchmarks.trace_writer import TraceWriter
from experiments.harness.case_study import CaseStudy
from experiments.harness.execute import Execution
from experiments.harness.progress import Recorded, StudyRun
from experiments.llm_rl import run as study
from experiments.llm_rl.figures import overlap_figure, tail_figure
from experiments.llm_rl.measurements import Measurements, iteration_row, load, tables_of, tail_start
from experiments.llm_rl.metrics import PAIRS, metrics_of, overlap_table
from experiments.verdicts import other_machines
from experiments.verdicts.claims import NOT_TESTABLE, load_claims
from rlscope.errors import UsageError
from rlscope.model import Category
from rlscope.plots import figure_files

CLAIMS = load_claims(study.HERE / "claims.toml")
#: Milliseconds of a clock's second.
MS = 1_000_000


def sample(end_s: float, tokens: int, discarded: bool = False) -> dict[str, Any]:
    return {"start_s": 0.0, "end_s": end_s, "tokens": tokens, "version": 0, "discarded": discarded}


#: Nine samples that are complete after 1, 2, … 9 s, and one after 20 s.
SAMPLES = [*(sample(float(second), second) for second in range(1, 10)), sample(20.0, 20, discarded=True)]
STEPS = [(float(second), max(1, 11 - second)) for second in range(1, 21)]
OPERATIONS = {"generate": 20.0, "reward": 0.1, "logprobs": 2.0, "update_actor": 7.9, "gather": 1.0, "pause": 1.0}
ITERATION = {"start_s": 0.0, "end_s": 32.0, "operations": OPERATIONS, "reward": 0.25, "samples": SAMPLES}


def test_the_tail_begins_when_nine_of_ten_are_complete() -> None:
    assert tail_start([1, 2, 3, 4, 5, 6, 7, 8, 9, 20]) == 9
    assert tail_start([1, 2, 3]) == 3
    row = iteration_row(3, ITERATION, STEPS)
    generated_before_s = sum(11 - second for second in range(1, 10))
    assert row == (3, 32.0, 20.0, 9.9, 2.0, 1.0, 0.0, 20.0, 11.0, 65, 11, generated_before_s, 20, 1, 10, 0.25)


def runs_of(workload: str, generate_s: float, train_s: float, seconds: float, stale: int = 0) -> list[dict[str, Any]]:
    about = {"workload": workload, "iteration": 1, "seconds": seconds, "generate_s": generate_s, "reward": 0.5}
    times = {"training_s": train_s, "sync_s": 1.0, "pause_s": 0.25, "wait_s": seconds / 4}
    tokens = {"tokens": 100, "tail_tokens": 10, "body_tokens": 90, "stale_tokens": 6 * stale, "stale_samples": stale}
    rollout = {"rollout_s": 10.0, "tail_s": 4.0, "samples": 32}
    return [{**about, **times, **tokens, **rollout, "repetition": repetition} for repetition in range(3)]


def made_tables() -> Any:
    from experiments.llm_rl.measurements import COLUMNS, KEY, Tables

    iterations = [
        *runs_of("synchronous", 3, 3, 7), *runs_of("overlapped", 3, 3, 4),
        *runs_of("synchronous_2", 6, 2, 9), *runs_of("overlapped_2", 6, 2, 8),
        *runs_of("synchronous_3", 16, 2, 19), *runs_of("overlapped_3", 16, 2, 19),
        *runs_of("agent", 1, 1, 6), *runs_of("agent_ahead", 1, 1, 3, stale=2),
    ]  # fmt: skip
    stages = [
        (workload, repetition, "main", stage, operation, "backend", "cpu", seconds, seconds)
        for workload in ("synchronous", "trl")
        for repetition in range(3)
        for stage, operation, seconds in (
            ("inference", "generate", 1.0), ("inference", "decode", 2.0), ("backpropagation", "update_actor", 3.0),
        )
    ]  # fmt: skip
    operations = [
        ("synchronous", repetition, name, seconds)
        for repetition in range(3)
        for name, seconds in (("generate", 2.9), ("update_actor", 3.0), ("reward", 0.001))
    ]
    rows: dict[str, Any] = {"iterations": iterations, "stages": stages, "operations": operations}
    return Tables(**{name: pd.DataFrame(rows.get(name, []), columns=[*KEY, *COLUMNS[name]]) for name in COLUMNS})


def test_metrics_of_known_runs() -> None:
    found = {name: estimate.value for name, estimate in metrics_of(made_tables()).items()}
    bounds = [7 / 4 / ((3 + 3 + 1) / (3 + 1)), 9 / 8 / ((6 + 2 + 1) / (6 + 1)), 19 / 19 / ((16 + 2 + 1) / (16 + 1))]
    assert found == pytest.approx(
        {
            "synchronous_generation_percent": 100 * 3 / 7,
            "synchronous_sync_percent": 100 / 7,
            "synchronous_tail_percent": 40,
            "tail_to_body_throughput": (10 / 4) / (90 / 6),
            "trl_generation_percent": 50,
            "largest_difference_percent": 100 * (3 / 2.9 - 1),
            "overlapped_pause_percent": 25,
            "balanced_overlap_gain": 7 / 4,
            "generation_heavy_overlap_gain": 1,
            "overlapped_wait_percent": 25,
            "overlap_gain_to_bound": sum(bounds) / 3,
            "stale_token_percent": 12,
            "stale_to_kept_tokens": 6 / (88 / 30),
            "ahead_gain": 2,
        }
    )


def test_every_claim_is_measured() -> None:
    on_gpu = {claim.metric for claim in CLAIMS if claim.hardware == "gpu"}
    on_cpu = {claim.metric for claim in CLAIMS if claim.hardware == "cpu"}
    assert on_cpu == set(metrics_of(made_tables()))
    assert on_gpu - on_cpu == {"synchronous_idle_device_percent"}


def test_a_pair_of_which_one_has_not_run_has_no_gain() -> None:
    tables = made_tables()
    kept = tables.iterations[tables.iterations["workload"] != "overlapped_3"]
    found = metrics_of(type(tables)(**{**vars(tables), "iterations": kept}))
    assert not {"balanced_overlap_gain", "overlap_gain_to_bound"} & set(found)


def test_the_figure_of_overlap_has_each_pair_and_its_bound() -> None:
    table = overlap_table(made_tables())
    assert table["ratio"].to_list() == pytest.approx([1, 3, 8])
    assert table["bound"].to_list() == pytest.approx([7 / 4, 9 / 7, 19 / 17])
    (axes,) = overlap_figure(table).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2", "4", "8"]
    measured = axes.containers[0].lines[0]  # type: ignore[attr-defined]
    assert list(measured.get_ydata()) == pytest.approx([7 / 4, 9 / 8, 1])
    assert axes.get_ylim() == pytest.approx((0.9, 2.1))


def test_the_figure_of_overlap_has_both_ends_of_each_interval() -> None:
    table = overlap_table(made_tables()).assign(gain_low=[-0.1, 1.0, 0.9], gain_high=[3.0, 1.2, 1.1])
    (axes,) = overlap_figure(table).axes
    low, high = axes.get_ylim()
    assert low < -0.1 and high > 3.0


def tail_axes(*labels: str, begins_s: float = 0.0, discards: str = "agent") -> list[Axes]:
    """Return the panels of workloads that are alike but for what is discarded, and for when the iteration began."""
    samples = pd.DataFrame(
        [
            (name, each["end_s"] - begins_s, each["discarded"] and name == discards)
            for name in labels
            for each in SAMPLES
        ],
        columns=["workload", "done_s", "discarded"],
    )
    steps = pd.DataFrame(
        [(name, *step) for name in labels for step in STEPS], columns=["workload", "done_s", "running"]
    )
    return tail_figure(samples, steps, {name: name.title() for name in labels}).axes


def test_the_legend_of_the_tail_names_what_any_panel_shows() -> None:
    for discards in ("synchronous", "agent"):
        figure = tail_axes("synchronous", "agent", discards=discards)[0].figure
        (legend,) = figure.legends
        assert sorted(text.get_text() for text in legend.get_texts()) == [
            "Complete", "Discarded", "Generated at once, of the most", "Tail",
        ]  # fmt: skip


def test_the_axis_of_the_tail_begins_with_the_iteration() -> None:
    (axes,) = tail_axes("agent", begins_s=3.5)
    assert axes.get_xlim()[0] == 0
    complete = next(line for line in axes.lines if line.get_label() == "Complete")
    assert np.column_stack(complete.get_data())[:5].tolist() == [[0, 0], [0, 10], [0, 20], [0, 30], [500, 40]]


def test_a_sample_that_was_discarded_stands_where_all_are_that_were_complete_by_then() -> None:
    (axes,) = tail_axes("agent", begins_s=25.0)  # all were complete before it began
    (crosses,) = [line for line in axes.lines if line.get_label() == "Discarded"]
    assert np.column_stack(crosses.get_data()).tolist() == [[0, 100]]


def test_the_figure_of_the_tail_shades_it() -> None:
    (axes,) = tail_axes("agent")
    (shaded,) = axes.patches
    assert [shaded.get_x(), shaded.get_x() + shaded.get_width()] == pytest.approx([9000, 20000])  # type: ignore[attr-defined]
    assert axes.get_title() == "Agent"


def leave(planned: StudyRun) -> Execution:
    """What a run leaves: two iterations by its stopwatch, and a trace with a stage of each kind."""
    later = {**ITERATION, "samples": [{**each} for each in SAMPLES]}
    iterations = [] if planned.workload.name == "trl" else [ITERATION, later]
    execution = leave_run(planned, {"mode": planned.workload.name, "iterations": iterations, "steps": STEPS})
    writer = TraceWriter(execution.trace)
    thread = (process := writer.process(pid=1)).thread()
    thread.begin_operation(0, "training_loop")
    for place, (stage, operation) in enumerate((("inference", "decode"), ("synchronisation", "gather"))):
        thread.begin_operation((1 + 4 * place) * MS, stage)
        thread.begin_operation((1 + 4 * place) * MS, operation)
        thread.begin_boundary((2 + 4 * place) * MS, Category.BACKEND, "torch.add")
        for end in (3, 4, 4):
            thread.end((end + 4 * place) * MS)
    thread.end(10 * MS)
    process.stop(11 * MS)
    writer.write_complete()
    return execution


def leave_all(runs: Sequence[StudyRun]) -> Recorded:
    return Recorded({run.directory: leave(run) for run in runs})


@pytest.fixture
def made_up_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, "cpu")
    monkeypatch.setattr(other_machines, "MEASURED", str(tmp_path / "kept"))
    monkeypatch.setattr(figure_files, "FIGURE_FORMATS", ("png",))


@pytest.mark.usefixtures("made_up_runs")
def test_the_study_draws_and_judges_what_has_run(tmp_path: Path) -> None:
    planned = CaseStudy(study.HERE, "smoke", tmp_path / "output", recorder=leave_all)
    outcome = study.run(planned)
    assert {path.stem for path in (tmp_path / "output").glob("fig_*.png")} == {
        "fig_llm_breakdown", "fig_llm_tail", "fig_llm_overlap",
    }  # fmt: skip
    drawn = pd.read_csv(tmp_path / "output" / "fig_llm_breakdown.csv")
    seconds = drawn[drawn["workload"] == "synchronous"].groupby("stage")["seconds"].sum()
    assert seconds.to_dict() == pytest.approx({"inference": 0.003, "synchronisation": 0.003, "training_loop": 0.004})
    assert {verdict.claim.metric for verdict in outcome.verdicts if verdict.verdict == NOT_TESTABLE} >= {
        "synchronous_idle_device_percent"
    }
    again = load(tmp_path / "output" / other_machines.MEASUREMENTS)
    assert isinstance(again, Measurements) and len(again.tables.samples) == 10 * 8
    assert tables_of([(run, leave(run)) for run in planned.runs()[:1]]).iterations["tail_s"].to_list() == [11.0]


@pytest.mark.usefixtures("made_up_runs")
def test_a_study_goes_on_from_what_an_earlier_part_has_measured(tmp_path: Path) -> None:
    first = CaseStudy(study.HERE, "smoke", tmp_path / "first", 2, leave_all)
    study.run(first)
    earlier = tmp_path / "first" / other_machines.MEASUREMENTS
    second = CaseStudy(study.HERE, "smoke", tmp_path / "second", 3, leave_all, earlier)
    assert {(run.workload.name, run.repetition) for run in second.runs()} == {
        (entry.name, 2) for entry in second.workloads
    }
    study.run(second)
    both = load(tmp_path / "second" / other_machines.MEASUREMENTS)
    measured = both.tables.stages[["workload", "repetition"]].drop_duplicates()
    assert len(second.workloads) == 9 and len(measured) == 9 * 3
    assert both.command.count(" && ") == 1 and both.date == "2026-11-22"
    assert len(both.tables.samples) == 10 * 8  # of the first repetition alone

    about = json.loads((earlier / other_machines.MACHINE).read_text())
    (earlier / other_machines.MACHINE).write_text(json.dumps(about | {"versions": {"torch": "2.10"}}))
    with pytest.raises(UsageError, match=r"found as versions \{'torch': '2.10'\} in the earlier part"):
        study.run(second)


def test_an_earlier_part_without_tables_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="found no table"):
        CaseStudy(study.HERE, "smoke", tmp_path / "output", earlier=tmp_path).runs()


@pytest.mark.parametrize("budget", ["smoke", "quick", "paper"])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_pairs_differ_in_their_arrangement_alone(
    budget: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on(monkeypatch, device)
    runs = {run.workload.name: run.run.arguments for run in CaseStudy(study.HERE, budget, tmp_path, 1).runs()}
    assert len(runs) == 9
    for slow, fast in PAIRS:
        assert [each for each in runs[slow] if each != "synchronous"] == [
            each for each in runs[fast] if each != "overlapped"
        ]
