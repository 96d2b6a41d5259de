"""What the study of GPU utilization launches, and what it makes of recorded kernels of known length."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest
from executed_runs import leave_run, measured_on, on

from benchmarks.trace_writer import TraceWriter
from experiments.gpu_utilization import run as study
from experiments.gpu_utilization.figures import LOWEST_PERCENT, duration_text, reported_utilization_figure
from experiments.gpu_utilization.measurements import COLUMNS, Measurements, Tables, counters_of, load, points_of
from experiments.gpu_utilization.metrics import metrics_of, percent_table
from experiments.harness.case_study import WORKLOADS, CaseStudy
from experiments.harness.execute import Execution, command_of, describe
from experiments.harness.progress import Recorded, StudyRun
from experiments.verdicts import other_machines
from experiments.verdicts.claims import HOLDS, NOT_TESTABLE, UNDECIDED, load_claims
from experiments.verdicts.other_machines import THIS_MACHINE
from experiments.workloads.tiny_kernels import drive, points
from rlscope.errors import IncompleteTraceError
from rlscope.model import DeviceWork
from rlscope.trace.utilization_file import HEADER, UTILIZATION_NAME

CLAIMS = load_claims(study.HERE / "claims.toml")
GAPS_US = (0, 20, 200, 2000, 20_000, 200_000)
TINY = "kernel_10us_gap_90us"


def measured(repetitions: int = 1) -> pd.DataFrame:
    """A launch takes 10 us, and what is reported is whether a kernel ran in the last 20 ms."""
    rows = []
    for repetition in range(repetitions):
        for kernel_us in (2, 10, 100, 1000):
            for gap_us in GAPS_US:
                turn_us = kernel_us + gap_us + 10
                busy = kernel_us / turn_us
                reported = min(1, (kernel_us + 20_000) / turn_us)
                name = f"kernel_{kernel_us}us_gap_{gap_us}us"
                row = (kernel_us, gap_us, 3e6 // turn_us, 3, kernel_us, reported, busy, 100 * busy / 132, 1.6)
                rows.append((repetition, name, *row))
        rows.append((repetition, "wide", float("nan"), 0, 25_000, 3, 110, 1, 0.92, 91, 85))  # type: ignore[arg-type]
    return pd.DataFrame(rows, columns=COLUMNS)


def results(device: str = "cuda") -> Measurements:
    return Measurements(**measured_on(device), tables=Tables(measured(repetitions=3)))


def test_each_length_is_launched_with_each_gap_and_the_wide_kernel_once() -> None:
    found = [(point.operation, point.kernel_us, point.gap_us) for point in points([2, 10], [0, 200])]
    assert found == [
        ("kernel_2us_gap_0us", 2, 0),
        ("kernel_2us_gap_200us", 2, 200),
        ("kernel_10us_gap_0us", 10, 0),
        ("kernel_10us_gap_200us", 10, 200),
        ("wide", None, 0),
    ]


def test_kernels_are_launched_with_gaps_until_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = {"now_ns": 5_000}

    def monotonic_ns() -> int:
        clock["now_ns"] += 1_000  # each reading takes 1 us
        return clock["now_ns"]

    def execute() -> None:
        clock["now_ns"] += 10_000

    monkeypatch.setattr("experiments.workloads.tiny_kernels.time.monotonic_ns", monotonic_ns)
    without_gap = drive(execute, gap_us=0, seconds=100e-6)
    assert (without_gap.launches, without_gap.end_ns - without_gap.start_ns) == (10, 110_000)  # of 11 us
    with_gap = drive(execute, gap_us=20, seconds=100e-6)
    assert (with_gap.launches, with_gap.end_ns - with_gap.start_ns) == (4, 124_000)  # of 31 us


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("--kernels-us", "0", "expected a number above 0, found '0'"),
        ("--gaps-us", "-1", "expected a number, at least 0, found '-1'"),
        ("--seconds", "long", "expected a number above 0, found 'long'"),
    ],
)
def test_a_mistake_on_the_command_line_is_told(option: str, value: str, expected: str) -> None:
    given = {"--kernels-us": "2", "--gaps-us": "0", "--seconds": "1", option: value}
    command: list[str | Path] = [
        sys.executable,
        WORKLOADS / "tiny_kernels.py",
        *(f"{name}={text}" for name, text in given.items()),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and expected in done.stderr


def test_metrics() -> None:
    found = {name: estimate.value for name, estimate in metrics_of(measured()).items()}
    assert found == pytest.approx(
        {
            "idle_largest_reported_percent": 100,
            "largest_reported_to_busy": 20_012 / 2,  # 2 us each 20 ms, reported as 20,002 of 20,012
            "fully_largest_sm_efficiency": 100 * 1000 / 1010 / 132,  # of 1 ms, 10 us apart
            "tiny_largest_occupancy": 1.6,
            "wide_sm_efficiency": 91,
            "wide_to_tiny_reported": 1,
        },
        rel=1e-3,
    )
    assert metrics_of(measured(repetitions=3))["wide_sm_efficiency"].repetitions == 3


def test_every_claim_is_measured_and_only_those_without_counters_where_these_are_missing() -> None:
    assert {claim.metric for claim in CLAIMS} == set(metrics_of(measured()))
    without = metrics_of(measured().assign(sm_efficiency=float("nan"), achieved_occupancy=float("nan")))
    assert set(without) == {
        "idle_largest_reported_percent",
        "largest_reported_to_busy",
        "wide_to_tiny_reported",
    }
    assert metrics_of(measured()[:0]) == {}


def test_the_figure_has_a_panel_for_each_length_and_shows_nothing_as_the_least() -> None:
    table = percent_table(measured(repetitions=2))
    assert len(table) == 25
    figure = reported_utilization_figure(table)
    assert [axes.get_title() for axes in figure.axes] == [
        "2 µs kernels", "10 µs kernels", "100 µs kernels", "1 ms kernels", "Wide",
    ]  # fmt: skip
    lines = {str(line.get_label()): list(line.get_ydata()) for line in figure.axes[0].lines}  # type: ignore[arg-type]
    assert lines["Reported"][:2] == [100, 100]
    assert lines["SM efficiency"][-1] == LOWEST_PERCENT
    assert [duration_text(us) for us in (0, 20, 2000)] == ["none", "20 µs", "2 ms"]


def test_counters_of_operations_are_told_from_those_of_stages_and_of_nobody() -> None:
    def record(process: str, operation: str, metric: str, working: float, opened: float | None) -> dict[str, object]:
        names = {"process": process, "device": 0, "stage": "(none)", "operation": operation, "metric": metric}
        return names | {"while_working": working, "while_open": opened}

    found = counters_of(
        [
            record("main", TINY, "sm_efficiency", 0.7, 0.07),
            record("main", TINY, "achieved_occupancy", 1.6, None),
            record("main", TINY, "dram_bytes", 5.0, None),
            record("main", "", "sm_efficiency", 30.0, 20.0),
            record("", "(unattributed)", "sm_efficiency", 9.0, 9.0),
        ]
    )
    assert found == {(TINY, "sm_efficiency"): 0.07, (TINY, "achieved_occupancy"): 1.6, ("", "sm_efficiency"): 20.0}


@pytest.mark.parametrize("budget", ["smoke", "quick", "paper"])
def test_the_run_is_recorded_whole_and_with_counters(
    budget: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on(monkeypatch, "cuda")
    (planned,) = CaseStudy(study.HERE, budget, tmp_path, repetitions=1).runs()
    command = command_of(planned.run)
    assert command[1:8] == ["-m", "rlscope", "record", "--force", "-o", "trace", "--counters"]
    assert command[8:10] == ["sm_efficiency,achieved_occupancy", "--"]
    assert describe(planned.run)["counters"] == ["sm_efficiency", "achieved_occupancy"]
    assert "--device" not in command and planned.run.device == "cuda"


def leave(planned: StudyRun, uuid: str = "GPU-a") -> Execution:
    """What a run leaves: ten kernels of 10 us each 100 us, reported as fully used once the driver has noticed."""
    point = {"operation": TINY, "kernel_us": 10.0, "gap_us": 90.0, "launches": 10}
    figures = {"points": [point | {"start_ns": 1_000_000, "end_ns": 2_000_000}]}
    execution = leave_run(planned, figures, gpus=("NVIDIA H100",))
    writer = TraceWriter(execution.trace)
    process = writer.process(pid=1)
    process.properties({"devices": {"0": {"uuid": uuid, "name": "NVIDIA H200", "compute_capability": "9.0"}}})
    thread = process.thread()
    thread.operation(1_000_000, 2_000_000, TINY)
    queue = process.queue(0)
    for number in range(10):
        start = 1_000_000 + 100_000 * number
        queue.record(DeviceWork.KERNEL, start, start + 10_000, "spin_kernel", process.launch_site(TINY))
    process.stop(3_000_000)
    writer.write_complete()
    samples = [(1_000_000, 0), (1_500_000, 0), (1_750_000, 0.9), (2_000_000, 1), (3_000_000, 0)]
    lines = [HEADER, *(f"{time_ns},{uuid or 'GPU-a'},{reported},1024" for time_ns, reported in samples)]
    (writer.directory / UTILIZATION_NAME).write_text("\n".join(lines) + "\n")
    return execution


def test_points_are_made_of_what_was_printed_and_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, "cuda")
    (planned,) = CaseStudy(study.HERE, "smoke", tmp_path).runs()
    (row,) = points_of([(planned, leave(planned))]).to_dict("records")
    assert (row["operation"], row["kernel_us"], row["gap_us"], row["launches"]) == (TINY, 10, 90, 10)
    assert row["seconds"] == 1e-3
    assert row["mean_kernel_us"] == pytest.approx(10)
    assert row["busy"] == pytest.approx(0.1)
    assert row["reported"] == pytest.approx(0.95)  # of the second half
    assert pd.isna(row["sm_efficiency"]) and pd.isna(row["achieved_occupancy"])


def test_a_device_whose_uuid_is_not_known_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, "cuda")
    (planned,) = CaseStudy(study.HERE, "smoke", tmp_path).runs()
    execution = leave(planned, uuid="")
    with pytest.raises(IncompleteTraceError, match=r"trace: expected work on one device whose uuid is known"):
        points_of([(planned, execution)])


def test_without_a_gpu_nothing_is_run_and_kept_results_are_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on(monkeypatch, "cpu")
    monkeypatch.setattr(other_machines, "MEASURED", str(tmp_path / "kept"))
    alone = study.run(CaseStudy(study.HERE, "smoke", tmp_path / "alone"))
    assert [verdict.verdict for verdict in alone.verdicts] == [NOT_TESTABLE] * len(CLAIMS)
    assert not alone.missing and not list((tmp_path / "alone").glob("fig_*"))
    assert load(tmp_path / "alone" / other_machines.MEASUREMENTS).tables.points.empty

    results().save(tmp_path / "kept" / "h200")
    outcome = study.run(CaseStudy(study.HERE, "smoke", tmp_path / "output"))
    assert {path.name for path in (tmp_path / "output").glob("fig_*.[pc]*")} == {
        f"{study.FIGURE}_h200.{ending}" for ending in ("csv", "pdf", "png")
    }
    assert {(verdict.subject, verdict.verdict) for verdict in outcome.verdicts} == {("NVIDIA H200", HOLDS)}
    page = (tmp_path / "output" / "index.html").read_text()
    assert "Measured on NVIDIA H200" in page and "counters were not sampled" not in page


def test_with_a_gpu_this_machine_is_drawn_and_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, "cuda")
    monkeypatch.setattr(other_machines, "MEASURED", str(tmp_path / "kept"))

    def recorder(runs: Sequence[StudyRun]) -> Recorded:
        return Recorded({run.directory: leave(run) for run in runs})

    outcome = study.run(CaseStudy(study.HERE, "smoke", tmp_path / "output", recorder=recorder))
    assert (tmp_path / "output" / f"{study.FIGURE}.png").stat().st_size > 1000
    assert "counters were not sampled" in (tmp_path / "output" / "index.html").read_text()
    found = {verdict.claim.metric: verdict.verdict for verdict in outcome.verdicts if verdict.subject == THIS_MACHINE}
    assert found["largest_reported_to_busy"] == UNDECIDED  # of one run
    assert found["tiny_largest_occupancy"] == NOT_TESTABLE  # no counters
    assert len(load(tmp_path / "output" / other_machines.MEASUREMENTS).tables.points) == 1
