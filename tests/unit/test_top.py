"""`rlscope top`: its window is that of `analyze`, its lines fit, and a process that is silent is marked."""

import curses
import json
import os
import pty
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from trace_builder import parse_script, sweep_script, write_script

from benchmarks.trace_writer import TraceWriter
from rlscope._analysis import bytes_read
from rlscope.analysis.analysis import analyze
from rlscope.analysis.live.joined_windows import joined_processes
from rlscope.analysis.live.live_run import LiveRun
from rlscope.analysis.live.live_trace import LiveTrace, LiveView
from rlscope.analysis.live.window import BEHIND_NS
from rlscope.analysis.rows import Rows
from rlscope.analysis.sweep import sweep_trace
from rlscope.analysis.swept import Swept
from rlscope.cli.main import verbs
from rlscope.errors import TraceError
from rlscope.model import Category, DeviceWork
from rlscope.report.live.live_lines import Shown, letter_bar, live_lines
from rlscope.report.live.live_screen import after_key
from rlscope.report.screen import Screen
from rlscope.text.numbers import duration
from rlscope.trace.reader import open_trace
from rlscope.trace.utilization_file import HEADER, UTILIZATION_NAME
from rlscope.trace.windows import REQUESTS_NAME

S = 1_000_000_000


def write_run(directory: Path, seconds: int, stop: bool = True, complete: bool = True) -> Path:
    """A trainer and a worker: each second a call of the backend, an answer of the worker, a report of progress."""
    writer = TraceWriter(directory)
    trainer, worker = writer.process(pid=1), writer.process(pid=2, parent_pid=1, start_ticks=S // 2)
    trainer.properties({"process_name": "trainer"})
    worker.properties({"process_name": "worker"})
    threads = trainer.thread(), worker.thread()
    for second in range(1, seconds):
        threads[0].begin_operation(second * S, "simulation")
        threads[0].boundary(second * S, second * S + S // 4, Category.WAIT, "posix.read pipe:[1]")
        threads[0].end(second * S + S // 4)
        threads[0].begin_operation(second * S + S // 4, "inference")
        threads[0].boundary(second * S + S // 4, second * S + S // 2, Category.BACKEND, "torch.mm")
        threads[0].end(second * S + S // 2)
        threads[0].progress(second * S + S // 2, 10 * second, 1000)
        threads[1].boundary(second * S, second * S + S // 8, Category.SIMULATOR, "mujoco.step")
        threads[1].boundary(second * S + S // 8, second * S + S // 8, Category.WAIT, "posix.write pipe:[1]")
        for thread in threads:
            thread.new_chunk()
    if stop:
        trainer.stop(seconds * S)
        worker.stop(seconds * S)
    return writer.write({"main_pid": 1, "exit_status": 0, "complete": complete})


def document(directory: Path) -> dict[str, Any]:
    found = CliRunner().invoke(verbs, ["top", str(directory), "--once", "--json"], catch_exceptions=False)
    document: dict[str, Any] = json.loads(found.output)
    return document


def seconds_of(rows: list[dict[str, Any]]) -> dict[tuple[str, ...], float]:
    keys = ("process", "phase", "stage", "operation", "category", "resource")
    return {tuple(row[key] for key in keys): row["seconds"] for row in rows}


def test_of_a_short_run_the_window_is_what_analyze_finds(tmp_path: Path) -> None:
    directory = write_run(tmp_path / "trace", 4)
    expected = analyze(open_trace(directory))
    found = seconds_of(document(directory)["breakdown"])
    assert found == pytest.approx(seconds_of(expected.breakdown.records()))


def test_the_window_of_a_stopped_run_is_what_analyze_adds_in_it(tmp_path: Path) -> None:
    """The last 5 s of 60 s: the analysis of the same recording, less that of its first 55 s."""
    found = document(write_run(tmp_path / "trace", 60))
    whole = seconds_of(analyze(open_trace(tmp_path / "trace")).breakdown.records())
    before = seconds_of(analyze(open_trace(write_run(tmp_path / "before", 55))).breakdown.records())
    assert seconds_of(found["breakdown"]) == pytest.approx({row: whole[row] - before.get(row, 0.0) for row in whole})
    assert (found["start_s"], found["end_s"], found["recording"]) == (55, 60, False)
    assert (found["iterations_per_s"], found["timesteps_per_s"], found["remaining_s"]) == (1, 10, 41)


def test_rows_of_processes(tmp_path: Path) -> None:
    trainer, worker = document(write_run(tmp_path / "trace", 60))["processes"]
    assert (trainer["python_s"], trainer["backend_s"], trainer["wait_s"]) == (2.5, 1.25, 1.25)
    assert (trainer["waits_for"], trainer["crossings_per_s"], trainer["has_ended"]) == ("worker", 2, True)
    assert (worker["parent"], worker["simulator_s"]) == ("trainer", 0.625)


def test_a_look_reads_what_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recording that goes on: three looks a second apart have the rows of one look at the last five seconds."""
    directory = write_run(tmp_path / "trace", 60, stop=False, complete=False)
    now = [40 * S]
    monkeypatch.setattr(
        "rlscope.analysis.live.live_trace.now_ns", lambda trace: now[0] + S
    )  # CLOCK_REALTIME is 1 s ahead
    trace = LiveTrace(directory)
    views = []
    for _ in range(8):
        views.append(trace.look())
        now[0] += S + S // 3
    now[0] -= S + S // 3
    once = LiveTrace(directory).look()
    joined = seconds_of(views[-1].breakdown.records())
    length_s = views[-1].end_s - views[-1].start_s
    assert 5 <= length_s < 5 + 4 / 3
    assert views[-1].end_s == once.end_s == (now[0] - BEHIND_NS) / S
    assert sum(joined.values()) == pytest.approx(2 * length_s)
    assert views[-1].rates.timesteps_per_s == pytest.approx(10)
    assert views[-1].processes[0].crossings_per_s == pytest.approx(2, abs=0.5)


def test_gpus_of_the_window(tmp_path: Path) -> None:
    """Two processes share a device: what runs for both counts once, and what is reported is that of these 5 s."""
    writer = TraceWriter(tmp_path / "trace")
    for pid in (1, 2):
        process = writer.process(pid=pid, parent_pid=pid - 1, start_ticks=S)
        process.properties({"devices": {"0": {"uuid": "GPU-a", "name": "card"}}})
        process.thread(start_ticks=S).begin_boundary(2 * S, Category.CUDA, "cudaLaunchKernel")
        queue = process.queue(0)
        for second in range(2, 60):
            queue.record(DeviceWork.KERNEL, second * S, second * S + S // 2, "gemm")
            queue.new_chunk()
        process.stop(60 * S)
    directory = writer.write_complete()
    lines = [f"{second * S},GPU-a,{0.25 if second <= 55 else 0.75}," for second in range(1, 61)]
    (directory / UTILIZATION_NAME).write_text("\n".join([HEADER, *lines]) + "\n")
    before = bytes_read()
    view = LiveTrace(directory).look()
    assert bytes_read() - before < sum(path.stat().st_size for path in directory.glob("*.rlscope")) / 2
    (row,) = view.gpu
    assert (row.busy_s, row.reported_utilization) == (2.5, 0.75)
    assert "GPU 0 (card): busy 50 %, reported 75 %" in live_lines(view, Screen(80))


def test_joined_windows_are_one(tmp_path: Path) -> None:
    script = parse_script(Path(__file__).parents[1].joinpath("golden/waits_under_two_phases.trace.txt").read_text())
    path = write_script(replace(script, stop=None), tmp_path)
    end = sweep_script(script, path).end_ticks
    parts = [
        sweep_script(replace(script, limit=until), path, since_ticks=since)
        for since, until in ((1, end // 3), (end // 3, end // 2), (end // 2, end))
    ]
    joined = joined_processes(parts)
    once = sweep_script(replace(script, limit=end), path, since_ticks=1)
    assert sorted(joined.breakdown) == sorted(once.breakdown)
    assert sorted(joined.waits) == sorted(once.waits)
    assert joined.events == once.events


def test_a_field_that_windows_do_not_know_is_not_kept_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @dataclass(frozen=True, kw_only=True)
    class LaterSwept(Swept):
        of_later: int

    process, _ = sweep_trace(open_trace(write_run(tmp_path, 3))).processes
    part = LaterSwept(**vars(process.found), of_later=1)
    monkeypatch.setattr("rlscope.analysis.live.joined_windows.Swept", LaterSwept)
    with pytest.raises(TypeError, match="of_later"):
        joined_processes([part, part])


def test_a_silent_process_is_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = write_run(tmp_path / "trace", 10, stop=False, complete=False)
    monkeypatch.setattr("rlscope.analysis.live.live_trace.now_ns", lambda trace: 21 * S + S + BEHIND_NS)
    view = LiveTrace(directory).look()
    assert [round(row.silent_s) for row in view.processes] == [12, 12]
    lines = live_lines(view, Screen(80))
    silent = {row.process: duration(row.silent_s) for row in view.processes}
    assert {line.split()[0]: line.partition("silent ")[2] for line in lines[-2:]} == silent
    monkeypatch.setattr("rlscope.analysis.live.live_trace.now_ns", lambda trace: 10 * S + S + BEHIND_NS)
    assert not any("silent " in line for line in live_lines(LiveTrace(directory).look(), Screen(80)))


def test_of_a_run_in_windows_the_newest_is_shown_once_it_fills_a_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = LiveRun(tmp_path)
    now = [0]
    monkeypatch.setattr("rlscope.analysis.live.live_trace.now_ns", lambda trace: now[0] + S + BEHIND_NS)

    def look(at: int) -> tuple[str, bool, float]:
        now[0] = at
        view = run.look()
        return view.directory.name, view.is_recording, view.end_s

    (tmp_path / REQUESTS_NAME).touch()
    with pytest.raises(TraceError, match="none has been asked for"):
        run.look()
    write_run(tmp_path / "window-1", 10, stop=False, complete=False)
    assert look(3 * S) == ("window-1", True, 3), "there is no other"
    write_run(tmp_path / "window-1", 4)
    write_run(tmp_path / "window-2", 10, stop=False, complete=False)
    (tmp_path / "window-3").mkdir()
    assert look(5 * S - 1) == ("window-1", False, 4)
    assert look(5 * S) == ("window-2", True, 5)
    expected = document(tmp_path / "window-1")
    assert seconds_of(expected["breakdown"]) == pytest.approx(
        seconds_of(analyze(open_trace(tmp_path / "window-1")).breakdown.records())
    )


def many_processes() -> LiveView:
    with tempfile.TemporaryDirectory() as directory:
        view = LiveTrace(write_run(Path(directory) / "trace", 10)).look()
    rows = [replace(view.processes[1], process=f"ein sehr langer Name 漢字 {number}") for number in range(50)]
    return replace(view, processes=Rows(view.processes.row_class, [view.processes[0], *rows]))


#: The window of a trainer and of fifty workers with long names, made once.
VIEW = many_processes()


@given(st.integers(40, 200), st.integers(6, 60), st.integers(0, 60), st.sampled_from(("tree", "work", "calls")))
def test_no_line_is_too_long_and_none_too_many(width: int, height: int, chosen: int, order: str) -> None:
    shown = Shown(order, chosen, None, False, 0.0123)
    for opened in (None, VIEW.processes[0].process):
        lines = live_lines(VIEW, Screen(width), height, replace(shown, opened=opened))
        assert len(lines) == height
        assert all(cell_len(line) <= width for line in lines)


def test_the_chosen_process_is_shown() -> None:
    for chosen in (0, 20, 50):
        lines = live_lines(VIEW, Screen(80), 24, Shown(chosen=chosen))
        assert sum(line.startswith(">") for line in lines) == 1


def test_bar() -> None:
    assert letter_bar({"python": 5, "simulator": 0, "backend": 0, "cuda": 0, "wait": 2.5}, 10, 8) == "pppp.."


def test_keys() -> None:
    shown = Shown(chosen=0)
    assert after_key(shown, ord("p"), VIEW).is_paused
    assert after_key(shown, ord("s"), VIEW).order == "work"
    assert after_key(after_key(shown, curses.KEY_DOWN, VIEW), curses.KEY_UP, VIEW) == shown
    opened = after_key(shown, ord("\n"), VIEW)
    assert opened.opened == "trainer"
    assert after_key(opened, 27, VIEW).opened is None


def test_in_a_terminal_of_80_by_24(tmp_path: Path) -> None:
    """It draws, and q ends it with status 0."""
    directory = write_run(tmp_path / "trace", 10)
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ |= {"TERM": "xterm", "LINES": "24", "COLUMNS": "80"}
        os.execv(sys.executable, [sys.executable, "-m", "rlscope", "top", str(directory)])
    written = b""
    while b"q quit" not in written:
        written += os.read(terminal, 1 << 16)
    os.write(terminal, b"q")
    reader = threading.Thread(target=drain, args=(terminal,), daemon=True)
    reader.start()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert b"trainer" in written


def drain(terminal: int) -> None:
    try:
        while os.read(terminal, 1 << 16):
            pass
    except OSError:  # closed at the other end
        pass


def test_without_a_terminal(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rlscope", "top", str(write_run(tmp_path / "trace", 4))]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (2, "")
    assert "take --once, or --json" in found.stderr


PROGRAM = """
import hashlib, os, time
digest = hashlib.sha256()
end = time.monotonic() + 3
while time.monotonic() < end:
    time.sleep(0.01)
print("done", flush=True)
"""


def files_of(trace: Path) -> set[str]:
    """What lies there to stay: a file that is written anew has another name, with a dot, until it is whole."""
    return {path.name for path in trace.iterdir() if not path.name.startswith(".")}


def test_the_recorded_program_does_not_know(tmp_path: Path) -> None:
    """Its output, its status and what its recording says of itself are as ever while somebody looks."""
    (tmp_path / "program.py").write_text(PROGRAM)
    rlscope = [sys.executable, "-m", "rlscope"]
    record = [*rlscope, "record", "-o", "trace", "--", sys.executable, "program.py"]
    with subprocess.Popen(record, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as recording:
        while not any(path.stat().st_size for path in tmp_path.glob("trace/*.rlscope")):  # it begins empty
            time.sleep(0.05)
        looks = []
        while recording.poll() is None:
            files = files_of(tmp_path / "trace")
            looks.append(LiveTrace(tmp_path / "trace").look())
            assert files <= files_of(tmp_path / "trace")
        assert recording.stdout is not None
        assert (recording.stdout.read(), recording.wait()) == ("done\n", 0)
    assert any(look.is_recording for look in looks)
    assert not [reason for look in looks for reason in look.why if "damaged" in reason]
    analysis = analyze(open_trace(tmp_path / "trace"))
    assert analysis.complete
    assert seconds_of(document(tmp_path / "trace")["breakdown"]) == pytest.approx(
        seconds_of(analysis.breakdown.records())
    )
