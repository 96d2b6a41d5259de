"""Hardware counters by operation: exact values of small traces, sums that hold for all, losses."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.trace_writer import TraceWriter
from rlscope._analysis import device_intervals
from rlscope.analysis.analysis import Analysis, analyze
from rlscope.analysis.counters.join import UNATTRIBUTED
from rlscope.analysis.document import document_of
from rlscope.cli.analyze import analyze as analyze_verb
from rlscope.cli.inspect import inspect as inspect_verb
from rlscope.errors import TraceFormatError
from rlscope.model import NO_OPERATION, DeviceWork
from rlscope.plots.counters import counter_bars, counters_figure
from rlscope.record.config import RecordConfig
from rlscope.report.remarks import warnings
from rlscope.report.report_page import ReportPage, add_counters
from rlscope.trace.counter_metrics import ACTIVE_CYCLES, FRIENDLY, parse_counters, sampled_metrics
from rlscope.trace.counters_file import CounterWriter
from rlscope.trace.reader import counters_path, open_trace

UUID = "GPU-a"
US = 1000
SAMPLE_US = 100
WALL_US = 1000
MANIFEST: dict[str, Any] = {
    "main_pid": 10,
    "exit_status": 0,
    "complete": True,
    "counters": {"devices": [{"uuid": UUID, "samples": 3, "lost_samples": 2}], "error": None},
}
ACT, STEP, UPDATE = ("inference", "act"), ("backpropagation", "step"), ("backpropagation", "update")
#: Of rates, the value in each sample is that of `BYTES`.
BYTES, RATE, RATIO = "dram_bytes", "sm_efficiency", "achieved_occupancy"
Columns = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Work:
    """A kernel, with times in us, and the stage and operation that launched it."""

    start: float
    end: float
    launch: tuple[str, str] = ACT


def in_each_sample(*work: Work, first: int = 0) -> list[Work]:
    """The same in three samples."""
    return [
        replace(one, start=one.start + at * SAMPLE_US, end=one.end + at * SAMPLE_US)
        for at in range(first, first + 3)
        for one in work
    ]


def record(directory: Path, processes: Mapping[str, Sequence[Work]], manifest: dict[str, Any] | None = None) -> None:
    """Every process runs for 1000 us, of which 400 us in act, which is in inference for 600 us."""
    writer = TraceWriter(directory)
    for number, (name, work) in enumerate(processes.items()):
        process = writer.process(pid=10 + number, parent_pid=10 if number else 0)
        device = {"uuid": UUID, "name": "NVIDIA H200", "compute_capability": "9.0"}
        process.properties({"process_name": name, "devices": {"0": device}})
        thread = process.thread()
        thread.begin_operation(0, "inference")
        thread.operation(100 * US, 500 * US, "act")
        thread.end(600 * US)
        queue = process.queue(0)
        for one in work:
            launch = process.launch_site(one.launch[1], one.launch[0])
            queue.record(DeviceWork.KERNEL, round(one.start * US), round(one.end * US), "gemm", launch)
        process.stop(WALL_US * US)
    writer.write(MANIFEST if manifest is None else manifest)


def sample(directory: Path, columns: Columns, uuid: str = UUID, is_closed: bool = True) -> Path:
    """Samples one after the other from 0 us on by a clock that is not off; they are of all columns' names."""
    metrics = parse_counters(",".join(name for name in columns if name != ACTIVE_CYCLES))
    values = {FRIENDLY.get(name, name): list(column) for name, column in columns.items()}
    count = len(next(iter(values.values())))
    values = {name: [1.0] * count for name in sampled_metrics(metrics)} | values
    path = counters_path(directory, uuid)
    facts = {"uuid": uuid, "name": "NVIDIA H200", "chip": "GH100"}
    writer = CounterWriter(
        path, **facts, interval_ns=SAMPLE_US * US, metrics=metrics, offset_low_ns=0, offset_high_ns=0
    )
    start_ns = np.arange(count) * SAMPLE_US * US
    writer.append(start_ns, start_ns + SAMPLE_US * US, values)
    if is_closed:
        writer.close()
    return path


def rows(analysis: Analysis, value: str, metric: str) -> dict[tuple[str, str, str], float]:
    table = analysis.counters.table[analysis.counters.table["metric"] == metric]
    keys = table[["process", "stage", "operation"]].itertuples(index=False, name=None)
    return dict(zip(keys, table[value].tolist(), strict=True))


def test_one_operation(tmp_path: Path) -> None:
    record(tmp_path, {"main": in_each_sample(Work(10, 90), first=1)})
    ratios = [np.nan, 50, 25, 0, np.nan]  # of no cycles, in which no work ran
    cycles = [0, 10, 25, 5, 0]
    sample(tmp_path, {RATE: [0, 40, 80, 0, 0], RATIO: ratios, ACTIVE_CYCLES: cycles, BYTES: [0, 8, 2, 0, 0]})
    document = json.loads(json.dumps(document_of(analyze(open_trace(tmp_path)))))
    assert document["counter_runs"] == {
        "devices": [
            {
                "device": 0,
                "uuid": UUID,
                "samples": 5,
                "lost_samples": 2,
                "interval_ns": 100_000,
                "unattributed_share": 0,
            }
        ],
        "error": None,
    }
    key = {"process": "main", "device": 0, "stage": "inference", "operation": "act"}
    rests_on = {"busy_s": pytest.approx(240e-6), "samples": 3}
    nothing = {"while_working": None, "while_open": None, "total": None}
    assert [row for row in document["counters"] if row["operation"] == "act"] == [
        key | nothing | rests_on | known
        for known in (
            # 40 % of 100 us and 80 % of 100 us, over 240 us of work, and over 400 us in which it was open.
            {"metric": RATE, "unit": "%", "while_working": pytest.approx(50), "while_open": pytest.approx(30)},
            {"metric": RATIO, "unit": "%", "while_working": pytest.approx((50 * 10 + 25 * 25) / 40)},
            {"metric": BYTES, "unit": "bytes", "total": pytest.approx(10)},
        )
    ]
    of_process, of_stage = (
        {row["metric"]: row["while_open"] for row in document["counters"] if (row["stage"], row["operation"]) == labels}
        for labels in (("", ""), ("inference", ""))
    )
    assert of_process == {RATE: pytest.approx(12), RATIO: None, BYTES: None}
    assert of_stage == {RATE: pytest.approx(20), RATIO: None, BYTES: None}


def test_two_operations_in_a_sample_share_it(tmp_path: Path) -> None:
    record(tmp_path, {"main": in_each_sample(Work(10, 30), Work(30, 90, STEP))})
    sample(tmp_path, {BYTES: [80, 8, 0], RATE: [80, 40, 0]})
    analysis = analyze(open_trace(tmp_path))
    totals = rows(analysis, "total", BYTES)
    assert totals[("main", *ACT)] == pytest.approx(22) and totals[("main", *STEP)] == pytest.approx(66)
    assert rows(analysis, "while_working", RATE)[("main", *ACT)] == pytest.approx(12_000 / 4 / 60)
    assert rows(analysis, "samples", BYTES)[("main", *STEP)] == 3


def test_work_that_no_operation_launched_is_in_none(tmp_path: Path) -> None:
    none = (NO_OPERATION, NO_OPERATION)
    record(tmp_path, {"main": in_each_sample(Work(10, 90, none))})
    sample(tmp_path, {BYTES: [1, 1, 1]})
    assert rows(analyze(open_trace(tmp_path)), "total", BYTES) == {
        ("main", "", ""): 3, ("main", NO_OPERATION, ""): 3, ("main", *none): 3,
    }  # fmt: skip


def test_processes_on_one_device_share_its_samples(tmp_path: Path) -> None:
    record(tmp_path, {"main": in_each_sample(Work(10, 90)), "worker": in_each_sample(Work(50, 90))})
    sample(tmp_path, {BYTES: [9, 9, 9], RATIO: [30, 60, 0], ACTIVE_CYCLES: [3, 3, 3]})
    analysis = analyze(open_trace(tmp_path))
    totals = rows(analysis, "total", BYTES)
    assert totals[("main", "", "")] == pytest.approx(18) and totals[("worker", *ACT)] == pytest.approx(9)
    assert rows(analysis, "while_working", RATIO)[("worker", "", "")] == pytest.approx(30)


def test_a_stage_is_the_sum_of_its_operations_and_no_mean_of_means(tmp_path: Path) -> None:
    record(tmp_path, {"main": [Work(10, 90, STEP), Work(110, 190, UPDATE), Work(150, 190, STEP)]})
    sample(tmp_path, {RATE: [90, 30], BYTES: [4, 12], RATIO: [10, 50], ACTIVE_CYCLES: [3, 1]})
    analysis = analyze(open_trace(tmp_path))
    totals, busy_s, working = (
        rows(analysis, value, metric)
        for value, metric in (("total", BYTES), ("busy_s", BYTES), ("while_working", RATE))
    )
    stage = ("main", "backpropagation", "")
    # Alone, the step has 4 in 80 us; the update never is alone, and gets what 16 in 200 us of work mean.
    of_step = 40 * 4 / 80 / (40 * 4 / 80 + 80 * 16 / 200)
    assert totals[("main", *STEP)] == pytest.approx(4 + 12 * of_step)
    assert totals[("main", *UPDATE)] == pytest.approx(12 * (1 - of_step))
    assert totals[stage] == totals[("main", "", "")] == pytest.approx(16)
    # What runs for both at once is busy once.
    assert busy_s[("main", *STEP)] == pytest.approx(120e-6) and busy_s[stage] == pytest.approx(160e-6)
    assert working[stage] == pytest.approx((90 + 30) * 100 / 160)
    assert rows(analysis, "while_working", RATIO)[stage] == pytest.approx((10 * 3 + 50 * 1) / 4)
    assert rows(analysis, "samples", RATIO)[stage] == 2


def test_a_shared_sample_goes_to_who_counts_more_when_alone(tmp_path: Path) -> None:
    record(tmp_path, {"main": [Work(0, 190, STEP), Work(190, 300, UPDATE)]})
    # The step has one processor, the update a hundred: in the sample that both share 90 and 10 us.
    cycles = [100, 90 + 1000, 10_000]
    sample(tmp_path, {BYTES: cycles, RATIO: [2, (90 * 2 + 1000 * 92) / 1090, 92], ACTIVE_CYCLES: cycles})
    analysis = analyze(open_trace(tmp_path))
    totals = rows(analysis, "total", BYTES)
    assert totals[("main", *STEP)] == pytest.approx(190) and totals[("main", *UPDATE)] == pytest.approx(11_000)
    occupancy = rows(analysis, "while_working", RATIO)
    assert occupancy[("main", *STEP)] == pytest.approx(2) and occupancy[("main", *UPDATE)] == pytest.approx(92)


def test_an_operation_with_several_kernels_in_a_sample_is_alone_there(tmp_path: Path) -> None:
    work = [Work(0, 20, STEP), Work(60, 90, STEP), Work(100, 200, UPDATE), Work(200, 250, STEP), Work(250, 300, UPDATE)]
    record(tmp_path, {"main": work})
    sample(tmp_path, {BYTES: [50, 10_000, 50 + 5000]})
    totals = rows(analyze(open_trace(tmp_path)), "total", BYTES)
    assert totals[("main", *STEP)] == pytest.approx(100) and totals[("main", *UPDATE)] == pytest.approx(15_000)


def test_no_ratio_is_beyond_those_of_its_samples(tmp_path: Path) -> None:
    record(
        tmp_path,
        {"main": [*in_each_sample(Work(0, 100)), Work(300, 400, STEP), Work(400, 450, STEP), Work(450, 500, UPDATE)]},
    )
    sample(tmp_path, {RATIO: [100, 100, 100, 10, 50], ACTIVE_CYCLES: [2000, 2000, 2000, 10_000, 10_000]})
    occupancy = rows(analyze(open_trace(tmp_path)), "while_working", RATIO)
    assert 10 < occupancy[("main", *STEP)] < 50 and occupancy[("main", *UPDATE)] == pytest.approx(50)


def test_samples_without_recorded_work_belong_to_nobody(tmp_path: Path) -> None:
    work = [Work(10 + at, 90 + at) for at in (0, 200, 400)]
    record(tmp_path, {"main": work})
    sample(
        tmp_path, {BYTES: [1, 0, 1, 0, 1, 0, 5], RATE: [10, 0, 10, 0, 10, 0, 60], ACTIVE_CYCLES: [1, 0, 1, 0, 1, 0, 1]}
    )
    analysis = analyze(open_trace(tmp_path))
    nobody = ("", "", UNATTRIBUTED)
    assert rows(analysis, "total", BYTES) == {
        ("main", "", ""): 3, ("main", "inference", ""): 3, ("main", *ACT): 3, nobody: 5,
    }  # fmt: skip
    assert rows(analysis, "while_working", RATE)[nobody] == pytest.approx(60)
    assert rows(analysis, "busy_s", RATE)[nobody] == pytest.approx(1e-4)
    assert analysis.counter_runs is not None
    assert analysis.counter_runs.devices[0].unattributed_share == pytest.approx(1 / 4)


def test_memory_that_is_refreshed_while_idle_changes_no_rate_of_nobodys_work(tmp_path: Path) -> None:
    active, traffic, nobody = [1, 0, 1, 0, 1, 0, 1, 0], [9, 2, 9, 2, 9, 2, 9, 2], ("", "", UNATTRIBUTED)
    record(tmp_path, {"main": [Work(10, 90), Work(210, 290), Work(410, 490)]})
    sample(
        tmp_path,
        {RATE: [10, 0, 10, 0, 10, 0, 60, 0], "dram_throughput": traffic, BYTES: traffic, ACTIVE_CYCLES: active},
    )
    analysis = analyze(open_trace(tmp_path))
    working = (rows(analysis, "while_working", metric)[nobody] for metric in (RATE, "dram_throughput"))
    assert list(working) == pytest.approx([60, 9])
    assert rows(analysis, "busy_s", RATE)[nobody] == pytest.approx(1e-4)
    assert rows(analysis, "samples", RATE)[nobody] == 1
    assert rows(analysis, "total", BYTES)[nobody] == 9 + 4 * 2


WORK = st.lists(st.tuples(st.integers(0, 900), st.integers(0, 90), st.sampled_from([ACT, STEP, UPDATE])), max_size=9)


@given(
    st.lists(WORK, min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=10),
)
@settings(max_examples=15, deadline=None)
def test_operations_and_nobody_have_all_of_every_amount(processes: list[Any], values: list[Any]) -> None:
    with TemporaryDirectory() as name:
        work = [[Work(0, 1), *(Work(at, at + length, launch) for at, length, launch in of_one)] for of_one in processes]
        record(Path(name), {f"p{number}": of_one for number, of_one in enumerate(work)})
        amounts, extra, active = zip(*values, strict=True)
        extra_metric = "sm__inst_executed.sum"
        sample(Path(name), {BYTES: amounts, extra_metric: extra, ACTIVE_CYCLES: active})
        analysis = analyze(open_trace(Path(name)))
    for metric, column in ((BYTES, amounts), (extra_metric, extra)):
        totals = rows(analysis, "total", metric)
        assert sum(total for key, total in totals.items() if key[2]) == pytest.approx(sum(column))
        for process in {key[0] for key in totals} - {""}:
            of_process = sum(total for key, total in totals.items() if key[0] == process and key[2])
            assert totals[(process, "", "")] == pytest.approx(of_process)


def test_pieces_of_device_work(tmp_path: Path) -> None:
    process = TraceWriter(tmp_path).process(start_ticks=100)
    process.thread()
    act = process.launch_site("act", "inference")
    queue = process.queue(3)
    queue.record(DeviceWork.KERNEL, 90, 120, "f", act)
    queue.record(DeviceWork.COPY, 130, 130, "copy", act, 64)
    queue.record(DeviceWork.MEMSET, 190, 250, "memset")
    process.queue(0).record(DeviceWork.KERNEL, 150, 160, "g", process.launch_site("step", "backpropagation"))
    process.stop(200)
    path = tmp_path / "file"
    path.write_bytes(process.to_bytes())
    found = device_intervals(path, 100, 200)
    pieces = zip(
        *(np.frombuffer(found[border], np.uint64).tolist() for border in ("starts", "ends")),  # type: ignore[literal-required]
        np.frombuffer(found["devices"], np.uint32).tolist(),
        [found["labels"][site] for site in np.frombuffer(found["launch_sites"], np.uint32).tolist()],
        found["work"],
        strict=True,
    )
    assert list(pieces) == [
        (100, 120, 3, ACT, DeviceWork.KERNEL),
        (150, 160, 0, STEP, DeviceWork.KERNEL),
        (190, 200, 3, (NO_OPERATION, NO_OPERATION), DeviceWork.MEMSET),
    ]


def test_samples_that_are_cut_off_are_used_and_said(tmp_path: Path) -> None:
    record(tmp_path, {"main": in_each_sample(Work(10, 90))})
    sample(tmp_path, {BYTES: [1, 1, 1]}, is_closed=False)
    analysis = analyze(open_trace(tmp_path))
    assert rows(analysis, "total", BYTES)[("main", *ACT)] == 3
    assert not analysis.complete and "samples may be missing at the end of counters-GPU-a.arrows" in analysis.why[0]


def test_a_damaged_file_is_one_line_and_can_be_left_out(tmp_path: Path) -> None:
    record(tmp_path, {"main": in_each_sample(Work(10, 90))})
    path = sample(tmp_path, {BYTES: [1, 1, 1]})
    path.write_bytes(path.read_bytes().replace(b"offset_low_ns", b"offset_los_ns"))
    with pytest.raises(
        TraceFormatError, match=r"counters-GPU-a\.arrows, but it is damaged: there is no 'offset_low_ns'"
    ):
        analyze(open_trace(tmp_path))
    analysis = analyze(open_trace(tmp_path), recover=True)
    assert analysis.counters.table.empty and "is damaged" in analysis.why[0]


def test_a_run_whose_sampling_failed_says_why(tmp_path: Path) -> None:
    manifest = MANIFEST | {"counters": {"devices": "?", "error": "the driver refused"}}
    record(tmp_path, {"main": in_each_sample(Work(10, 90))}, manifest)
    runs = analyze(open_trace(tmp_path)).counter_runs
    assert runs is not None and runs.devices == () and runs.error == "the driver refused"
    counters_path(tmp_path, UUID).touch()
    assert "is empty: sampling was killed" in analyze(open_trace(tmp_path)).why[0]


def test_a_device_that_no_recorded_process_used(tmp_path: Path) -> None:
    record(tmp_path, {"main": in_each_sample(Work(10, 90))})
    sample(tmp_path, {BYTES: [1, 1, 1], ACTIVE_CYCLES: [1, 1, 0]}, uuid="GPU-b")
    sample(tmp_path, {BYTES: [1, 1, 1], ACTIVE_CYCLES: [0, 0, 0]}, uuid="GPU-c")
    analysis = analyze(open_trace(tmp_path))
    assert analysis.counters.table.empty and analysis.counter_runs is not None
    found = [
        (device.device, device.lost_samples, device.unattributed_share) for device in analysis.counter_runs.devices
    ]
    assert found == [(None, None, 1.0), (None, None, None)]


def test_a_run_without_counters_looks_as_ever(tmp_path: Path) -> None:
    record(tmp_path, {"main": in_each_sample(Work(10, 90))}, {"main_pid": 10, "complete": True})
    analysis = analyze(open_trace(tmp_path))
    document = document_of(analysis)
    assert document["counters"] == [] and document["counter_runs"] is None and analysis.complete


def shown_by(verb: Any, *arguments: str) -> str:
    return str(CliRunner().invoke(verb, arguments, catch_exceptions=False, env={"COLUMNS": "200"}).output)


def test_counters_are_shown_with_a_warning(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    none = (NO_OPERATION, NO_OPERATION)
    glyphs = ("inference", "東京 $x$")
    record(trace, {"main": in_each_sample(Work(10, 40), Work(40, 50, STEP), Work(50, 60, glyphs), Work(60, 90, none))})
    sample(trace, {RATE: [40, 50, 60], BYTES: [8000, 0, 0]})
    sample(trace, {RATE: [1]}, uuid="GPU-b")
    RecordConfig(counters=(RATE, BYTES)).save(trace)
    not_comparable = "a run with counters: its times are not for comparison with others"
    shown = " ".join(shown_by(analyze_verb, str(trace), "--all").split())
    for part in (
        f"- {not_comparable}",
        "- counters of GPU 0: 3 samples, one in 100 µs, 2 lost; 0 % of its active cycles were while no recorded work",
        "- counters of GPU-b, which no recorded process used: 1 samples, one in 100 µs; 100 % of its active cycles",
        "Hardware counters by launching operation",
        "sm_efficiency (%)",
        "3 k",
    ):
        assert part in shown
    shown = shown_by(inspect_verb, str(trace))
    assert f"counters: sm_efficiency, dram_bytes; GPU-a 3 samples, 2 lost; {not_comparable}" in shown
    analysis = analyze(open_trace(trace))
    assert f"run: {not_comparable}." in warnings("run", analysis)
    page = ReportPage("")
    add_counters(page, analysis, tmp_path, "_1")
    page.write(tmp_path / "index.html")
    shown, _, _ = (tmp_path / "index.html").read_text().partition("<script>")
    assert "left out" not in shown
    assert "counters_1.png" in shown and (tmp_path / "counters_1.png").stat().st_size
    assert (tmp_path / "counters_1.csv").read_text().count("\n") == 1 + 2 * (1 + 3 * 2 + 1)


def test_of_many_operations_the_figure_says_how_many_it_leaves_out(tmp_path: Path) -> None:
    work = [Work(20 * at, 20 * at + 15, ("inference", f"op{at:02}")) for at in range(30)]
    record(tmp_path, {"main": [*work, Work(900, 901, ("simulation", "step"))]})
    sample(tmp_path, {RATE: [5] * 10})
    analysis = analyze(open_trace(tmp_path))
    drawn, left_out = counter_bars(analysis.counters.table)
    stages = set(drawn.loc[drawn["operation"] == "", "stage"])
    assert stages == {"inference", "simulation"} >= set(drawn["stage"])
    assert len(drawn) + left_out == 2 + 31 and left_out == 9
    page = ReportPage("")
    add_counters(page, analysis, tmp_path, "")
    page.write(tmp_path / "index.html")
    assert " 9 are left out, first the operations with least busy time" in (tmp_path / "index.html").read_text()
    assert len(counters_figure(analysis.counters.table).axes[0].patches) == len(drawn)


def test_nothing_is_shown_of_a_run_without_counters(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    record(trace, {"main": in_each_sample(Work(10, 90))}, {"main_pid": 10, "complete": True})
    for verb, *options in ((analyze_verb, "--all"), (inspect_verb,)):
        assert "ounters" not in shown_by(verb, str(trace), *options)
    analysis, page = analyze(open_trace(trace)), ReportPage("")
    add_counters(page, analysis, tmp_path, "")
    page.write(tmp_path / "index.html")
    assert "ounters" not in (tmp_path / "index.html").read_text() and not list(tmp_path.glob("counters*"))
    assert not [line for line in warnings("run", analysis) if "counters" in line]
