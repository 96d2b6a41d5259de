"""Samples of hardware counters in the trace: names that are taken and refused, what is written is read, damage."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import ipc

from rlscope.errors import IncompleteTraceError, TraceFormatError, UsageError
from rlscope.record.config import RecordConfig
from rlscope.trace.counter_metrics import (
    ACTIVE_CYCLES,
    FRIENDLY,
    Combination,
    CounterMetric,
    counter_metric,
    parse_counters,
    sampled_metrics,
)
from rlscope.trace.counters_file import CounterWriter, read_counters
from rlscope.trace.reader import counter_files, counters_path

UUID = "GPU-dc55d6ae-0000-0000-0000-000000000000"
METRICS = parse_counters("dram_bytes,achieved_occupancy")
WARPS = FRIENDLY["achieved_occupancy"]


def written(directory: Path, is_closed: bool = True) -> Path:
    path = counters_path(directory, UUID)
    facts = {"uuid": UUID, "name": "NVIDIA H200", "chip": "GH100"}
    writer = CounterWriter(path, **facts, interval_ns=100_000, metrics=METRICS, offset_low_ns=-500, offset_high_ns=700)
    for start in (0, 200_000):
        times = np.array([start, start + 100_000])
        values = {"dram__bytes.sum": [1.0, 2.0], WARPS: [50.0, 25.0], ACTIVE_CYCLES: [10.0, 0.0]}
        writer.append(times, times + 100_000, values)
    if is_closed:
        writer.close()
    return path


@pytest.mark.parametrize(
    ("name", "combination", "weight", "unit"),
    [
        ("sm_efficiency", Combination.RATE, None, "%"),
        ("achieved_occupancy", Combination.RATIO, ACTIVE_CYCLES, "%"),
        ("dram_throughput", Combination.RATE, None, "%"),
        ("tensor_active", Combination.RATE, None, "%"),
        ("dram_bytes", Combination.AMOUNT, None, "bytes"),
        ("instructions", Combination.AMOUNT, None, "instructions"),
        ("dram__bytes_read.sum.per_second", Combination.RATE, None, "bytes/s"),
        (
            "smsp__inst_executed.avg.per_cycle_active",
            Combination.RATIO,
            "smsp__cycles_active.sum",
            "instructions/cycle",
        ),
        ("sm__warps_launched.sum.per_cycle_elapsed", Combination.RATE, None, "1/cycle"),
        ("sm__warps_launched.sum", Combination.AMOUNT, None, ""),
    ],
)
def test_a_metric_says_how_it_combines(name: str, combination: Combination, weight: str | None, unit: str) -> None:
    metric = counter_metric(name)
    assert (metric.name, metric.metric) == (name, FRIENDLY.get(name, name))
    assert (metric.combination, metric.weight, metric.unit) == (combination, weight, unit)


@pytest.mark.parametrize(
    "name",
    [
        "dram__bytes.max",
        "dram__bytes.min",
        "dram__bytes.avg",
        "dram__bytes",
        "sm__cycles_active.max.pct_of_peak_sustained_elapsed",
        "smsp__average_warp_latency.ratio",
        "sm__cycles_active.sum.pct_of_peak_burst_elapsed",
        "bytes.sum",
        "__bytes.sum",
        "occupancy",
    ],
)
def test_a_metric_that_does_not_combine_is_refused_in_one_line(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be combined") as caught:
        parse_counters(f"sm_efficiency,{name}")
    assert repr(name) in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", " ", "sm_efficiency,", ",sm_efficiency"])
def test_a_list_that_leaves_a_name_out_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="leaves a name out"):
        parse_counters(text)


@pytest.mark.parametrize("text", ["dram_bytes,dram_bytes", "dram_bytes, dram__bytes.sum"])
def test_a_metric_that_is_asked_for_twice_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"dram__bytes\.sum twice"):
        parse_counters(text)


def test_what_is_sampled_has_weights_and_active_cycles_once() -> None:
    metrics = parse_counters("achieved_occupancy, smsp__inst_executed.sum.per_cycle_active")
    assert sampled_metrics(metrics) == (
        WARPS, "smsp__inst_executed.sum.per_cycle_active", ACTIVE_CYCLES, "smsp__cycles_active.sum",
    )  # fmt: skip
    assert sampled_metrics((CounterMetric("a", ACTIVE_CYCLES, None),)) == (ACTIVE_CYCLES,)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    assert counter_files(tmp_path) == []
    path = written(tmp_path)
    (tmp_path / "7-0.rlscope").touch()
    assert counter_files(tmp_path) == [path]
    samples = read_counters(path)
    assert (samples.uuid, samples.interval_ns, samples.metrics) == (UUID, 100_000, METRICS)
    assert (samples.offset_low_ns, samples.offset_high_ns, samples.is_cut_off) == (-500, 700, False)
    assert samples.start_ns.tolist() == [0, 100_000, 200_000, 300_000]
    assert samples.end_ns.tolist() == [100_000, 200_000, 300_000, 400_000]
    assert {name: values.tolist() for name, values in samples.columns.items()} == {
        "dram__bytes.sum": [1, 2, 1, 2], WARPS: [50, 25, 50, 25], ACTIVE_CYCLES: [10, 0, 10, 0],
    }  # fmt: skip


def test_of_a_file_that_was_cut_off_what_is_whole_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, is_closed=False)
    assert read_counters(path).is_cut_off and len(read_counters(path).start_ns) == 4
    path.write_bytes(path.read_bytes()[:-20])
    samples = read_counters(path)
    assert samples.is_cut_off and samples.start_ns.tolist() == [0, 100_000]


def test_a_file_without_anything_is_incomplete(tmp_path: Path) -> None:
    path = counters_path(tmp_path, UUID)
    path.touch()
    with pytest.raises(IncompleteTraceError, match="is empty"):
        read_counters(path)


def test_damage_is_one_line(tmp_path: Path) -> None:
    whole = written(tmp_path).read_bytes()
    path = tmp_path / "counters-damaged.arrows"
    for damaged in (
        b"no stream" * 9,
        whole[:100] + bytes(60) + whole[160:],
        whole.replace(b"weight", b"height"),
        whole.replace(b"dram__bytes.sum", b"dram__bytes_sum"),
        whole.replace(b'"weight": null', b'"weight": "ab"'),
    ):
        path.write_bytes(damaged)
        with pytest.raises(TraceFormatError, match="--recover") as caught:
            read_counters(path)
        assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_samples_that_overlap_are_damage(tmp_path: Path) -> None:
    with written(tmp_path).open("rb") as file:
        table = ipc.open_stream(file).read_all()
    for column, times in (
        ("end_ns", [100_000, 250_000, 300_000, 400_000]),
        ("start_ns", [0, 200_000, 200_000, 300_000]),
    ):
        path = tmp_path / f"counters-{column}.arrows"
        wrong = table.set_column(table.schema.get_field_index(column), column, pa.array(times))
        with ipc.new_stream(path, table.schema) as stream:
            stream.write_table(wrong)
        with pytest.raises(TraceFormatError, match="do not follow each other"):
            read_counters(path)


def test_a_ratio_that_is_no_number_is_damage_where_there_were_cycles(tmp_path: Path) -> None:
    """Cycles are 10, 0, 10 and 0: the second and the fourth sample may lack a ratio."""
    with written(tmp_path).open("rb") as file:
        table = ipc.open_stream(file).read_all()
    for number, ratios in enumerate([[50.0, np.nan, 50.0, np.nan], [50.0, 25.0, np.nan, 25.0]]):
        path = tmp_path / f"counters-{number}.arrows"
        with ipc.new_stream(path, table.schema) as stream:
            stream.write_table(table.set_column(table.schema.get_field_index(WARPS), WARPS, pa.array(ratios)))
    assert np.isnan(read_counters(tmp_path / "counters-0.arrows").columns[WARPS][1])
    with pytest.raises(TraceFormatError, match="values that no counter shows"):
        read_counters(tmp_path / "counters-1.arrows")


@pytest.mark.parametrize(
    ("key", "value"),
    [("interval_ns", 0), ("offset_low_ns", 701), ("offset_high_ns", 1 << 61), ("interval_ns", "often")],
)
def test_facts_that_cannot_be_are_damage(key: str, value: object, tmp_path: Path) -> None:
    with written(tmp_path).open("rb") as file:
        table = ipc.open_stream(file).read_all()
    schema = table.schema.with_metadata({**table.schema.metadata, key.encode(): str(value).encode()})
    path = tmp_path / "counters-wrong.arrows"
    with ipc.new_stream(path, schema) as stream:
        stream.write_table(table.cast(schema))
    with pytest.raises(TraceFormatError, match=str(value)):
        read_counters(path)


def test_the_configuration_of_a_run_keeps_its_counters(tmp_path: Path) -> None:
    config = RecordConfig(counters=("sm_efficiency", "dram__bytes.sum"))
    config.save(tmp_path)
    assert RecordConfig.load(tmp_path) == config


def test_the_documentation_has_every_friendly_name() -> None:
    text = (Path(__file__).parents[2] / "docs" / "gpu.md").read_text()
    assert dict(re.findall(r"^\| `(\w+)` \|.*\| `(\w+__\S+)` \|$", text, re.MULTILINE)) == FRIENDLY
