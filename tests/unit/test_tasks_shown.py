"""The table of operations of coroutines, and the line on misnested ones, in `analyze` and `report`."""

import asyncio
import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

import rlscope
from benchmarks.trace_writer import TraceWriter
from rlscope.analysis.analysis import analyze
from rlscope.cli.analyze import analyze as analyze_verb
from rlscope.cli.report import report as report_verb
from rlscope.trace.reader import open_trace

MISNESTED = "closed by the end of another operation that had begun earlier"


def shown(*arguments: str) -> str:
    return CliRunner().invoke(analyze_verb, list(arguments), catch_exceptions=False).output


def page(trace: Path, output: Path) -> str:
    CliRunner().invoke(report_verb, [str(trace), "-o", str(output)], catch_exceptions=False)
    return (output / "figures.html").read_text()


def test_tasks_of_every_process(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path / "trace")
    for pid in (7, 8):
        process = writer.process(pid=pid, start_ticks=0)
        process.properties({"process_name": f"agent {pid}"})
        main = process.thread()
        main.operation(10, 1000, "inference")
        for elapsed in range(1, 101):
            main.task(1000, "inference", 1_000_000 * elapsed, 10)
        process.stop(2000)
    analysis = analyze(open_trace(writer.write({"command": ["x"], "machine": {}})))
    first, _ = analysis.tasks.table.to_dict("records")
    assert analysis.tasks.table["process"].tolist() == ["agent 7", "agent 8"]
    assert (first["operation"], first["count"]) == ("inference", 100)
    tick_s = first["running_s"] / 1000
    assert first["elapsed_s"] == pytest.approx(5050e6 * tick_s)
    assert 0.99 * 50e6 * tick_s < first["elapsed_p50_s"] <= 50e6 * tick_s * 1.000001
    assert 0.99 * 99e6 * tick_s < first["elapsed_p99_s"] <= 99e6 * tick_s * 1.000001
    assert first["elapsed_max_s"] == pytest.approx(100e6 * tick_s)


def test_verbs_show_tasks(tmp_path: Path) -> None:
    async def agent() -> None:
        with rlscope.operation("inference"):
            await asyncio.sleep(0.05)

    async def both() -> None:
        await asyncio.gather(agent(), agent())

    trace = tmp_path / "trace"
    with rlscope.profile(trace):
        asyncio.run(both())
    assert "Operations of coroutines and generators" in shown(str(trace), "--all")
    (row,) = json.loads(shown(str(trace), "--json"))["tasks"]
    assert (row["process"], row["operation"], row["count"]) == ("main", "inference", 2)
    assert row["elapsed_p50_s"] > 0.045
    assert row["running_s"] < row["elapsed_s"] / 2


def test_verbs_say_that_operations_are_misnested(tmp_path: Path) -> None:
    def misnest(times: int) -> None:
        outer, inner = rlscope.operation("outer"), rlscope.operation("inner")
        for _ in range(times):
            outer.__enter__()
            inner.__enter__()
            time.sleep(0.001)
            outer.__exit__(None, None, None)
            inner.__exit__(None, None, None)

    for times, words in ((0, ""), (1, "1 operation was"), (2, "2 operations were")):
        trace = tmp_path / str(times)
        with rlscope.profile(trace):
            misnest(times)
        output = " ".join(shown(str(trace), "--all").split())
        assert (MISNESTED in output) == (times > 0)
        assert words in output
        assert json.loads(shown(str(trace), "--json"))["misnested_operations"] == times
        report = page(trace, tmp_path / f"report {times}")
        assert (MISNESTED in report) == (times > 0)
        assert (MISNESTED in (tmp_path / f"report {times}" / "index.html").read_text()) == (times > 0)
        assert "Operations of coroutines" not in output
