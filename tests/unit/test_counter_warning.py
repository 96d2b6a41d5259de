"""Verbs that write a file alone say of runs with counters that their times are not for comparison."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from benchmarks.trace_writer import TraceWriter
from rlscope.cli.analyze import analyze
from rlscope.cli.plot import plot
from rlscope.report.sentences import NOT_COMPARABLE
from rlscope.trace.counter_metrics import ACTIVE_CYCLES, parse_counters
from rlscope.trace.counters_file import CounterWriter
from rlscope.trace.reader import counters_path

UUID = "GPU-a"


def traced(directory: Path) -> Path:
    writer = TraceWriter(directory)
    process = writer.process()
    thread = process.thread()
    thread.operation(0, 600_000, "inference")
    process.stop(1_000_000)
    writer.write({"complete": True})
    return directory


def sampled(directory: Path) -> Path:
    path = counters_path(directory, UUID)
    metrics = parse_counters(ACTIVE_CYCLES)
    facts = {"uuid": UUID, "name": "NVIDIA H200", "chip": "GH100"}
    writer = CounterWriter(path, **facts, interval_ns=100_000, metrics=metrics, offset_low_ns=0, offset_high_ns=0)
    writer.append([0], [100_000], {ACTIVE_CYCLES: [1.0]})
    writer.close()
    return directory


def run(verb: str, traces: list[Path], output: Path) -> Result:
    directories = [str(trace) for trace in traces]
    if verb == "plot":
        return CliRunner().invoke(plot, ["breakdown", *directories, "-o", f"{output}.png"])
    return CliRunner().invoke(analyze, [*directories, f"--{verb}", f"{output}.{verb}"])


@pytest.mark.parametrize("verb", ["plot", "csv", "parquet"])
def test_a_run_with_counters_is_named_and_one_without_is_not(verb: str, tmp_path: Path) -> None:
    traces = [sampled(traced(tmp_path / "with")), traced(tmp_path / "without")]
    finished = run(verb, traces, tmp_path / "out")
    assert finished.exit_code == 0, finished.output
    said = [line for line in finished.stderr.splitlines() if NOT_COMPARABLE in line]
    assert said == [f"{traces[0]}: {NOT_COMPARABLE}"]


def test_a_document_says_it_itself(tmp_path: Path) -> None:
    finished = CliRunner().invoke(analyze, [str(sampled(traced(tmp_path / "with"))), "--json"])
    assert NOT_COMPARABLE not in finished.stderr
    assert json.loads(finished.stdout)["counter_runs"] is not None
