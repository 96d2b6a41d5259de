"""What `analyze` and `report` say of many processes, and what they leave out of one."""

from html import unescape
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from benchmarks.trace_writer import TraceWriter
from rlscope.analysis.account.words import account_lines, account_sentence
from rlscope.analysis.analysis import analyze
from rlscope.cli.analyze import analyze as analyze_verb
from rlscope.cli.report import report
from rlscope.model import Category, DeviceWork
from rlscope.plots.device_timeline import device_timeline_figure
from rlscope.report.process_tables import phases_shown, process_tree, waited_for
from rlscope.trace.reader import open_trace

S = 1_000_000_000
SECTIONS = ("Processes", "Phases", "straggler", "Who waited for whom", "upper bounds")


def self_play(directory: Path, workers: int) -> Path:
    """A main process that reads from a server of the machinery and from workers, the last of which plays longest."""
    writer = TraceWriter(directory)
    main = writer.process(pid=1)
    main.properties({"process_name": "main", "devices": {"0": {"uuid": "GPU-a", "name": "NVIDIA H200"}}})
    thread = main.thread()
    thread.begin_phase(0, "self_play")
    for number in range(workers):
        thread.boundary(number * S, (number + 1) * S - S // 10, Category.WAIT, f"posix.read pipe:[{number}]")
    thread.boundary(workers * S, workers * S, Category.WAIT, "posix.write pipe:[99]")
    thread.end(workers * S)
    main.stop(workers * S)
    server = writer.process(pid=90, parent_pid=1, start_ticks=1)
    server.properties({"process_name": "server", "role": "infrastructure"})
    thread = server.thread()
    thread.boundary(1, workers * S, Category.WAIT, "posix.read pipe:[99]")
    server.stop(workers * S)
    for number in range(workers):
        worker = writer.process(pid=2 + number, parent_pid=1, start_ticks=2 + number)
        worker.properties({"process_name": f"worker_{number}", "devices": {"0": {"uuid": "GPU-a"}}})
        thread = worker.thread()
        thread.begin_phase(2 + number, "self_play")
        thread.boundary((number + 1) * S - 10, (number + 1) * S, Category.WAIT, f"posix.write pipe:[{number}]")
        thread.end((number + 1) * S + (number == workers - 1) * S // 2)
        worker.queue(0).record(DeviceWork.KERNEL, S // 2, S, "gemm")
        worker.stop((number + 2) * S)
    return writer.write_complete()


def shown_by_analyze(*arguments: object) -> str:
    return CliRunner().invoke(analyze_verb, [str(word) for word in arguments], catch_exceptions=False).output


@pytest.fixture
def three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return self_play(Path("trace"), 3)


def test_tables_of_processes(three: Path) -> None:
    analysis = analyze(open_trace(three))
    tree = pd.DataFrame(process_tree(analysis))
    assert tree["process"].tolist() == ["main", "  server", "  worker_0", "  worker_1", "  worker_2"]
    assert tree["gpu_s"].tolist() == pytest.approx([0, 0, 0.5, 0.5, 0.5])
    assert tree["wait_s"].tolist()[:2] == pytest.approx([2.7, 3])
    # The server has no phase. It waits for the main process, as it should.
    assert set(pd.DataFrame(phases_shown(analysis))["process"]) == {"main", "worker_0", "worker_1", "worker_2"}
    edges = pd.DataFrame(waited_for(analysis))
    assert set(edges["process"]) == {"main"}
    assert edges.set_index("on")["count"].to_dict() == {"worker_0": 1, "worker_1": 1, "worker_2": 1}
    assert len(analysis.dependencies.table) == 8  # each wait for who sends, and each message for who reads it


def test_analyze_shows_processes(three: Path) -> None:
    output = shown_by_analyze(three, "--all")
    assert [section for section in SECTIONS if section not in " ".join(output.split())] == []
    assert "  worker_2  " in output
    straggler = "straggler in phase self_play: worker_2, which ended 1 s after the median end of 4 processes"
    assert straggler in " ".join(output.split())
    assert max(map(len, output.splitlines())) <= 80
    by_category = shown_by_analyze(three, "--by", "category")
    assert not any(section in by_category for section in SECTIONS)


def test_lines_of_several_traces_are_told_apart(three: Path) -> None:
    assert shown_by_analyze(three, three, "--all").count("straggler in phase self_play: worker_2") == 2
    assert shown_by_analyze("--by", "phase", three, three).count("- trace: times include what recording added") == 2


def test_a_process_that_failed_is_seen(three: Path) -> None:
    assert "complete" not in shown_by_analyze(three, "--all")
    writer = TraceWriter(three)
    writer.process(pid=50, parent_pid=1, start_ticks=5)
    writer.write()
    output = shown_by_analyze(three, "--all")
    assert "process" in output and "complete" in output and "no  " in output


def test_all_waits_are_shown(tmp_path: Path) -> None:
    output = shown_by_analyze(self_play(tmp_path / "trace", 25), "--all")
    assert len(output.partition("Who waited for whom\n")[2].partition("\n\n")[0].splitlines()) == 1 + 25


def test_one_process_without_a_phase_is_shown_in_short(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    process = writer.process(pid=1)
    process.queue(0).record(DeviceWork.KERNEL, 10, 20, "gemm")
    process.stop(50)
    output = shown_by_analyze(writer.write_complete(), "--all")
    assert not any(section in output for section in SECTIONS)


def test_report_shows_processes(three: Path, tmp_path: Path) -> None:
    output = tmp_path / "report"
    printed = CliRunner().invoke(report, [str(three), "-o", str(output)], catch_exceptions=False).output
    page = (output / "figures.html").read_text()
    analysis = analyze(open_trace(three))
    said = account_sentence(analysis)
    assert said and said in " ".join(printed.split()) and said in unescape(page)
    shown = unescape((output / "index.html").read_text())
    assert all(f"<td>{line.name}</td>" in shown for line in account_lines(analysis))
    for file in ("phases.csv", "dependencies.csv", "device_timeline.png", "process_view.png", "process_view.csv"):
        assert f'="{file}"' in page
    assert len(pd.read_csv(output / "device_timeline.csv")) == 200
    # What is linked is whole: the server's wait too.
    assert len(pd.read_csv(output / "dependencies.csv")) == 8


@pytest.mark.parametrize(("reported", "lines"), [([0.5, 1.0], 2), ([float("nan")] * 2, 1)])
def test_the_timeline_has_a_strip_for_each_device(reported: list[float], lines: int) -> None:
    table = pd.concat(
        pd.DataFrame(
            {
                "device": device,
                "start_s": [0.0, 1.0],
                "end_s": [1.0, 2.0],
                "busy": [0.25, 1.0],
                "exposed": 0.0,
                "reported": reported,
            }
        )
        for device in range(2)
    )
    figure = device_timeline_figure(table, {0: "GPU 0", 1: "GPU 1"})
    assert [axes.get_ylabel() for axes in figure.axes] == ["GPU 0 (%)", "GPU 1 (%)"]
    assert [len(axes.lines) for axes in figure.axes] == [lines, lines]
    assert list(figure.axes[0].lines[-1].get_ydata()) == [25, 100]  # type: ignore[arg-type]
    assert figure.axes[0].get_xlim() == (0, 2)
