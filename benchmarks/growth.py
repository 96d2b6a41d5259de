"""This file measures how costs grow with a trace's length, threads, processes, operation names and iterations."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

import rlscope
from benchmarks import CHECKOUT, OUTPUT
from benchmarks.analyzing.analyze_once import Cost, cost_of_analysis
from benchmarks.recording import peers
from benchmarks.recording.crossing import rlscope_recording, square_roots
from benchmarks.result import Value, print_results, results
from benchmarks.synthetic import Shape, write_trace
from benchmarks.timing import median
from rlscope.plots.style import paper, save_figure

MIB = 1 << 20
EVENTS = (100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000)
THREADS = (1, 2, 4, 8, 16, 32, 64)
PROCESSES = (1, 10, 100, 1000)
NAMES = (3, 300, 30_000)
ITERATIONS = (1_000, 10_000, 100_000)
ITERATIONS_PER_S = 10_000
TRACE_EVENTS = 4_000_000  # of the curves over threads, processes and names
REPEATS = 3
CALLS = 240_000
THREADED_CALLS = 2_000_000
CALL_REPEATS = 9
COLUMNS = ["panel", "series", "x", "value", "low", "high"]

ANALYSIS, MEMORY, RECORDER = "analysis (ns per event)", "memory (MiB)", "recorder (ns)"
BYTES, FILES, EACH_ITERATION = "trace (bytes per event)", "open files", "analysis (us per iteration)"
UNITS = {
    ANALYSIS: ("analysis", "ns/event"),
    MEMORY: ("memory", "MiB"),
    RECORDER: ("recorder", "ns"),
    BYTES: ("trace", "B/event"),
    FILES: ("files open at once", "files"),
    EACH_ITERATION: ("analysis", "us/iteration"),
}
PANELS = {
    f"{ANALYSIS} by events": "events",
    f"{MEMORY} by events": "events",
    f"{BYTES} by events": "events",
    f"{ANALYSIS} by threads": "threads",
    f"{ANALYSIS} by processes": "processes",
    f"{MEMORY} by processes": "processes",
    f"{BYTES} by processes": "processes",
    f"{FILES} by processes": "processes",
    f"{ANALYSIS} by names": "operation names",
    f"{EACH_ITERATION} by iterations": "iterations",
    f"{MEMORY} by iterations": "iterations",
    f"{RECORDER} by threads": "threads",
    f"{RECORDER} by names": "operation names",
}
Row = tuple[str, str, int, float, float | None, float | None]


#: A loop that a recorded process makes, so many iterations a second.
LOOP = """
import sys, time, rlscope
iterations, period_ns = int(sys.argv[1]), int(sys.argv[2])
begin_ns = time.monotonic_ns()
for iteration in range(iterations):
    with rlscope.operation("inference"):
        pass
    rlscope.report_progress(timesteps=iteration, total_timesteps=iterations)
    while time.monotonic_ns() < begin_ns + iteration * period_ns:
        pass
"""


def row(panel: str, series: str, x: int, values: Sequence[float]) -> Row:
    """Return a point of a curve, with its interval."""
    found = median(values)
    return (panel, series, x, found.value, found.low, found.high)


def memory_rows(panel: str, x: int, costs: Sequence[Cost]) -> list[Row]:
    """Return the memory of analyses."""
    return [
        row(f"{MEMORY} by {panel}", "whole process", x, [cost.peak_bytes / MIB for cost in costs]),
        row(f"{MEMORY} by {panel}", "beyond the libraries", x, [cost.added_bytes / MIB for cost in costs]),
    ]


def analysis_rows(trace: Path, events: int, shape: Shape, processes: int, panel: str, series: str, x: int) -> list[Row]:
    """Return what one synthetic trace costs: time per event, and what else the panels show."""
    written = write_trace(trace, events, shape, processes)
    costs = [cost_of_analysis(trace) for _ in range(REPEATS)]
    open_files = [most_open_files(trace) for _ in range(REPEATS)] if f"{FILES} by {panel}" in PANELS else []
    shutil.rmtree(trace)
    rows = [row(f"{ANALYSIS} by {panel}", series, x, [cost.elapsed_ns / written.events for cost in costs])]
    if f"{MEMORY} by {panel}" in PANELS:
        rows += memory_rows(panel, x, costs)
    if f"{BYTES} by {panel}" in PANELS:
        each = written.file_bytes / written.events  # known exactly
        rows.append((f"{BYTES} by {panel}", series, x, each, each, each))
    if open_files:
        rows.append(row(f"{FILES} by {panel}", series, x, open_files))
    return rows


def most_open_files(trace: Path) -> float:
    """Return the most files that an analysis had open, watched from outside so that it takes no time of it."""
    command = [sys.executable, "-m", "benchmarks.analyzing.analyze_once", str(trace)]
    most = 0
    with subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.DEVNULL) as analysis:
        while analysis.poll() is None:
            with contextlib.suppress(FileNotFoundError, PermissionError):  # it has just ended
                most = max(most, len(os.listdir(f"/proc/{analysis.pid}/fd")))
            time.sleep(1e-3)
    return float(most)


def iteration_rows(trace: Path, iterations: int) -> list[Row]:
    """Return what iterations cost the analysis of a loop that was recorded, 10,000 a second."""
    command = [sys.executable, "-m", "rlscope", "record", "-o", str(trace), "--"]
    command += [sys.executable, "-c", LOOP, str(iterations), str(1_000_000_000 // ITERATIONS_PER_S)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    costs = [cost_of_analysis(trace) for _ in range(REPEATS)]
    shutil.rmtree(trace)
    time_us = [cost.elapsed_ns / 1000 / iterations for cost in costs]
    each = row(f"{EACH_ITERATION} by iterations", "10,000 iterations/s", iterations, time_us)
    return [each, *memory_rows("iterations", iterations, costs)]


def all_analysis_rows(trace: Path) -> list[Row]:
    """Return the panels of the analysis."""
    rows: list[Row] = []
    for events in EVENTS:
        rows += analysis_rows(trace, events, Shape(), 1, "events", "1 thread", events)
    for threads in THREADS:
        for series, turn in (("turns of 5 ms", Shape().turn), ("call by call", None)):
            rows += analysis_rows(trace, TRACE_EVENTS, Shape(threads, turn=turn), 1, "threads", series, threads)
    for processes in PROCESSES:
        rows += analysis_rows(trace, TRACE_EVENTS, Shape(), processes, "processes", "1 thread each", processes)
    for names in NAMES:
        rows += analysis_rows(trace, TRACE_EVENTS, Shape(operations=names), 1, "names", "1 thread", names)
    for iterations in ITERATIONS:
        rows += iteration_rows(trace, iterations)
    return rows


def cpu_ns_per_call(threads: int, is_recorded: bool) -> float:
    """Return CPU time of one math.sqrt in each of several threads at once, all threads together."""
    started = threading.Barrier(threads + 1)

    def work() -> None:
        square_roots(1)  # a thread's first call fetches its first chunk
        started.wait()
        square_roots(THREADED_CALLS // threads)

    with rlscope_recording() if is_recorded else peers.nothing():
        workers = [threading.Thread(target=work) for _ in range(threads)]
        for worker in workers:
            worker.start()
        started_ns = time.process_time_ns()
        started.wait()
        for worker in workers:
            worker.join()
        return (time.process_time_ns() - started_ns) / (THREADED_CALLS // threads * threads)


def operation_ns(names: int) -> float:
    """Time of entering and leaving an operation, with the names one after the other."""
    scopes = [f"operation_{number}" for number in range(names)]

    def enter_all(wanted: Sequence[str]) -> int:
        started_ns = time.perf_counter_ns()
        for name in wanted:
            with rlscope.operation(name):
                pass
        return time.perf_counter_ns() - started_ns

    wanted = list(islice(cycle(scopes), CALLS))
    with peers.rlscope_recording():
        enter_all(scopes)  # the first time, a name gets its number
        return enter_all(wanted) / len(wanted)


def recorder_rows() -> list[Row]:
    """Return the two panels of the recorder."""
    rows: list[Row] = []
    for threads in THREADS:
        pairs = [
            cpu_ns_per_call(threads, is_recorded=True) - cpu_ns_per_call(threads, is_recorded=False)
            for _ in range(CALL_REPEATS)
        ]
        rows.append(row(f"{RECORDER} by threads", "crossing", threads, pairs))
    for names in NAMES:
        entered = [operation_ns(names) for _ in range(CALL_REPEATS)]
        rows.append(row(f"{RECORDER} by names", "operation", names, entered))
    return rows


def growth_figure(table: pd.DataFrame) -> Figure:
    """Return one panel per pair of cost and size; bars are 95 % intervals."""
    with paper():
        figure = Figure(figsize=(12, 7), layout="constrained")
        axes = figure.subplots(3, 5)
        for axis, (panel, label) in zip(axes.flat, PANELS.items(), strict=False):
            points = table[table["panel"] == panel]
            for series, rows in points.groupby("series", sort=False):
                errors = [rows["value"] - rows["low"], rows["high"] - rows["value"]]
                axis.errorbar(rows["x"], rows["value"], yerr=errors, marker="o", markersize=3, capsize=2, label=series)
            axis.set(xscale="log", xlabel=label, ylabel=panel.split(" by ")[0])
            axis.set_ylim(bottom=0, top=1.15 * points["high"].max())
            if points["x"].max() < min(EVENTS):  # few enough digits to be written out
                axis.set_xticks(points["x"].unique(), [f"{x:,}" for x in points["x"].unique()])
                axis.minorticks_off()
            axis.legend(frameon=False, fontsize="small", handlelength=1)
        for axis in axes.flat[len(PANELS) :]:
            axis.set_visible(False)
    return figure


def main() -> None:
    """Measure all curves, write fig_growth and its numbers."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=OUTPUT) as directory:
        rows = all_analysis_rows(Path(directory) / "trace") + recorder_rows()
    table = pd.DataFrame(rows, columns=COLUMNS)
    table.to_csv(OUTPUT / "fig_growth.csv", index=False)
    figure = growth_figure(table)
    for suffix in ("png", "pdf"):
        save_figure(figure, OUTPUT / f"fig_growth.{suffix}")
    for (panel, series), points in table.groupby(["panel", "series"], sort=False):
        first, last = points.iloc[0], points.iloc[-1]
        measured = Value(last["value"], last["low"], last["high"])
        metric = f"{UNITS[panel.split(' by ')[0]][0]}, {last['x']:,} {PANELS[panel]}, {series}"
        note = f"{last['value'] / first['value']:.2f} times that of {first['x']:,}"
        print_results(results(metric, UNITS[panel.split(" by ")[0]][1], measured, note=note))


if __name__ == "__main__":
    main()
