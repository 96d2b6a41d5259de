"""What the report says of devices: how busy they were beside what was reported, by whom they were used, and when."""

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner
from rows_of import bare_analysis, rows_of

from benchmarks.trace_writer import TraceWriter
from rlscope.analysis.analysis import analyze
from rlscope.analysis.devices.rows import DeviceWorkRow, GpuOperationRow, GpuRow
from rlscope.analysis.reported import Utilization
from rlscope.analysis.rows import Rows
from rlscope.analysis.table_rows import ProcessRow
from rlscope.analysis.utilization import binned_utilization, read_utilization
from rlscope.cli.report import report
from rlscope.cli.summary import summary_of
from rlscope.model import Category, DeviceWork
from rlscope.plots.utilization import utilization_figure
from rlscope.record.config import RecordConfig
from rlscope.report.remarks import device_lines
from rlscope.report.report_page import ReportPage, add_utilization, tables_of, write_report
from rlscope.text.numbers import size
from rlscope.trace.files import PROCESS_FILE_SUFFIX
from rlscope.trace.reader import open_trace
from rlscope.trace.utilization_file import HEADER, PROCESSES, UTILIZATION_NAME

OPERATIONS = [GpuOperationRow("main", 0, f"operation_{number}", number / 1000, 0.0, 7) for number in range(30)]
WORK = [
    DeviceWorkRow("main", 0, "inference", "sample_action", f"kernel_{number}", 3, number / 1000, 0)
    for number in range(25)
]


def analysis(directory: Path, reported: float | None = 1.0, has_gpu: bool = True) -> Any:
    return SimpleNamespace(
        directory=directory,
        processes=rows_of(ProcessRow, [{"end_s": 10.0}, {"end_s": 8.0}]),
        gpu=Rows(GpuRow, [GpuRow(0, "GPU-a", 0.61, 0.0, 0.0, 0.7, reported, "NVIDIA H200")] if has_gpu else []),
        utilization=Utilization(directory),
    )


def sample(directory: Path, *extra: str) -> None:
    lines = [f"{second}000000000,{source},0.5,1000" for second in range(1, 9) for source in ("GPU-a", PROCESSES)]
    (directory / UTILIZATION_NAME).write_text("\n".join([HEADER, *lines, *extra]) + "\n")


def written(page: ReportPage, directory: Path) -> str:
    page.write(directory / "index.html")
    return (directory / "index.html").read_text()


def test_a_device_is_one_line() -> None:
    assert device_lines(analysis(Path("trace"))) == ["GPU 0 (NVIDIA H200): reported 100 %, busy 6.1 %"]
    assert device_lines(analysis(Path("trace"), reported=None)) == ["GPU 0 (NVIDIA H200): busy 6.1 %"]
    assert device_lines(analysis(Path("trace"), has_gpu=False)) == []


def test_a_device_without_a_name() -> None:
    nameless = analysis(Path("trace"))
    nameless.gpu = Rows(GpuRow, [replace(nameless.gpu[0], name=None)])
    assert device_lines(nameless) == ["GPU 0: reported 100 %, busy 6.1 %"]


def test_files_hold_whole_tables_the_longest_rows_first() -> None:
    work = bare_analysis(gpu_operations=Rows(GpuOperationRow, OPERATIONS), device_work=Rows(DeviceWorkRow, WORK))
    tables = tables_of(work)
    assert tables["gpu_operations"]["operation"].tolist() == [f"operation_{number}" for number in range(29, -1, -1)]
    assert tables["device_work"]["name"].tolist() == [f"kernel_{number}" for number in range(24, -1, -1)]
    assert all(table.empty for name, table in tables.items() if name not in ("gpu_operations", "device_work"))


def test_what_was_reported_is_drawn(tmp_path: Path) -> None:
    sample(tmp_path, "damage")
    page = ReportPage("report")
    add_utilization(page, analysis(tmp_path), tmp_path, "")
    text = written(page, tmp_path)
    assert 'src="utilization.png"' in text
    assert "1 lines of utilization.csv are damaged" in text
    assert "GPU 0 (NVIDIA H200)" in (tmp_path / "utilization.svg").read_text()
    assert set(pd.read_csv(tmp_path / "utilization.csv")["source"]) == {"GPU-a", PROCESSES}


def test_nothing_is_drawn_where_nothing_was_sampled(tmp_path: Path) -> None:
    page = ReportPage("report")
    add_utilization(page, analysis(tmp_path), tmp_path, "")
    assert "utilization" not in written(page, tmp_path)


@pytest.mark.parametrize(("sources", "strips"), [([PROCESSES], 2), (["GPU-a", PROCESSES], 3), (["GPU-a"], 2)])
def test_there_is_a_strip_for_each_kind_of_sample(tmp_path: Path, sources: list[str], strips: int) -> None:
    sample(tmp_path)
    samples = read_utilization(tmp_path)
    table = binned_utilization(samples[samples["source"].isin(sources)], 100)
    figure = utilization_figure(table)
    assert len(figure.axes) == strips
    assert len(figure.legends[0].texts) == len(sources)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A process of 10 s that launches one kernel of 0.61 s."""
    second = 1_000_000_000
    writer = TraceWriter(tmp_path / "trace")
    process = writer.process(start_ticks=0)
    process.properties({"devices": {"0": {"uuid": "GPU-a", "name": "NVIDIA H200"}}})
    thread = process.thread(start_ticks=0)
    thread.begin_operation(0, "inference")
    thread.boundary(second, second + 10, Category.CUDA, "cudaLaunchKernel")
    thread.end(9 * second)
    launch = process.launch_site("inference", "inference")
    process.queue(0).record(DeviceWork.KERNEL, 2 * second, 2 * second + 610_000_000, "gemm", launch)
    process.stop(10 * second)
    directory = writer.write()
    sample(directory)
    return directory


def test_a_trace_with_device_work_is_reported(trace: Path, tmp_path: Path) -> None:
    finished = CliRunner().invoke(report, [str(trace), "-o", str(tmp_path / "report")], catch_exceptions=False)
    assert "GPU 0 (NVIDIA H200): reported 50 %, busy 6.1 %" in finished.stdout.splitlines()
    page, figures = ((tmp_path / "report" / name).read_text() for name in ("index.html", "figures.html"))
    assert "GPU 0 (NVIDIA H200): reported 50 %, busy 6.1 %" in page
    assert 'src="utilization.png"' in figures
    (work,) = pd.read_csv(tmp_path / "report" / "device_work.csv").to_dict("records")
    assert (work["name"], work["operation"], work["count"], work["seconds"]) == ("gemm", "inference", 1, 0.61)


def test_lines_of_several_traces_are_told_apart(trace: Path, tmp_path: Path) -> None:
    arguments = [str(trace), str(trace), "-o", str(tmp_path / "report")]
    finished = CliRunner().invoke(report, arguments, catch_exceptions=False)
    lines = [line for line in finished.stdout.splitlines() if "busy 6.1 %" in line]
    assert [line.partition(" GPU")[0] for line in lines] == ["trace (1):", "trace (2):"]
    assert {path.name for path in (tmp_path / "report").glob("device_work*")} == {
        "device_work_1.csv",
        "device_work_2.csv",
    }


def test_the_line_that_recording_ends_with_counts_device_work(trace: Path) -> None:
    *_, said = summary_of(trace, Path("trace"), RecordConfig(), os.getuid())
    (file,) = trace.glob(f"*{PROCESS_FILE_SUFFIX}")
    assert said.startswith(f"3 events, 1 of them on GPUs, {size(file.stat().st_size)}, 0 dropped.")


def test_a_report_needs_the_samples_no_second_time(trace: Path, tmp_path: Path) -> None:
    analyses = {"trace": analyze(open_trace(trace))}
    (trace / UTILIZATION_NAME).unlink()
    output = tmp_path / "report"
    output.mkdir()
    write_report(analyses, output)
    assert 'src="utilization.png"' in (output / "figures.html").read_text()
