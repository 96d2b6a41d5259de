"""What a page holds of large runs is bounded, and what it folds sums to the same."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from page_traces import page_of, run_of, training, walk
from trace_builder import Begin, End, ProcessScript, Progress, Sample, ThreadScript, boundary, operation, write_scripts

from rlscope.analysis.detail.swept import SweptDetail
from rlscope.analysis.tables.calls import detail_of
from rlscope.model import Category
from rlscope.page import iterations, make_page, short_tables, trace_data
from rlscope.page.grid import OTHERS
from rlscope.page.iterations import Iterations
from rlscope.page.short_detail import functions_for, short_detail
from rlscope.page.short_tables import short_analysis
from rlscope.page.trace_data import TraceData


def detail_from(script: ProcessScript, directory: Path) -> SweptDetail:
    return detail_of(run_of(write_scripts([script], directory / "trace")).swept.processes[0])


def of_iterations(detail: SweptDetail) -> Counter[tuple[int, str, str]]:
    columns = (detail.iterations, "<u4"), (detail.iteration_functions, "<u4"), (detail.iteration_ticks, "<u8")
    found: Counter[tuple[int, str, str]] = Counter()
    for number, function, ticks in zip(*(np.frombuffer(*column).tolist() for column in columns), strict=True):
        found[number, detail.functions[function].stage, detail.functions[function].category] += ticks
    return found


def many(names: int) -> ProcessScript:
    """An iteration per operation, each of which calls a function of its own: the later ones take longer."""
    thread, now = ThreadScript(0, 0), 0
    thread.statements.append(Progress(0, 0, 0, is_baseline=True))
    for number in range(names):
        begin: list[Begin] = [
            operation(now, f"operation_{number}"),
            boundary(now + 5, Category.BACKEND, f"f_{number}"),
        ]
        now += 10 + number
        thread.statements += [*begin, End(now), End(now), Progress(now, number + 1, 0)]
    return ProcessScript(0, now, threads=[thread])


def test_functions_of_pages_are_shared_by_processes() -> None:
    assert [functions_for(processes, 0) for processes in (1, 16, 256, 10_000)] == [4096, 1024, 64, 16]
    assert functions_for(1, 2) == 1024


def test_folded_functions_sum_to_the_same(tmp_path: Path) -> None:
    script = walk(5, 2_000, 0, 1_000_000)
    script.threads[0].statements.insert(0, Progress(0, 0, 0, is_baseline=True))
    for number, place in enumerate(range(200, 2000, 200)):
        before = script.threads[0].statements[place]
        script.threads[0].statements.insert(place, Progress(before.ticks, number + 1, 0))
    whole = detail_from(script, tmp_path)
    short = short_detail(whole, 8)
    assert len(whole.functions) > 20 and {row.function for row in short.functions} >= {OTHERS}
    assert len([row for row in short.functions if row.function != OTHERS]) <= 8
    for value in ("calls", "ticks"):
        sums: list[Counter[tuple[str, str, str]]] = []
        for functions in (whole.functions, short.functions):
            sums.append(Counter())
            for row in functions:
                sums[-1][row.stage, row.category, row.resource] += getattr(row, value)
        assert +sums[0] == +sums[1]
    assert of_iterations(short) == of_iterations(whole)
    assert short_detail(whole, len(whole.functions)) is whole


def test_a_function_that_took_long_once_is_told_apart(tmp_path: Path) -> None:
    """It is the smallest in all, but nothing else took as long in one iteration."""
    whole = detail_from(many(50), tmp_path)
    rare = len(whole.functions) - 1
    functions = [row._replace(ticks=10**9) for row in whole.functions[:-1]] + [whole.functions[-1]._replace(ticks=1000)]
    entry = replace(
        whole,
        functions=functions,
        iterations=np.array([0], "<u4").tobytes(),
        iteration_functions=np.array([rare], "<u4").tobytes(),
        iteration_ticks=np.array([1000], "<u8").tobytes(),
    )
    short = short_detail(entry, 10)
    assert whole.functions[rare].function in {row.function for row in short.functions}


def test_small_operations_are_one_and_the_page_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = write_scripts([many(40)], tmp_path / "trace")
    analysis = run_of(trace).analysis
    monkeypatch.setattr(short_tables, "MOST_OPERATIONS", 20)
    short, said = short_analysis(analysis, 0)
    assert {row.operation for row in short.breakdown} == {f"operation_{number}" for number in range(20, 40)} | {OTHERS}
    for category in ("python", "backend"):
        whole, kept = (
            sum(row.seconds for row in found.breakdown if row.category == category) for found in (analysis, short)
        )
        assert kept == pytest.approx(whole, abs=1e-12)
    assert sum(row.count for row in short.transitions) == sum(row.count for row in analysis.transitions)
    assert len(short.transitions) < len(analysis.transitions)
    assert said == [
        "The tables name the 20 operations with most time, of 40. The others are summed by stage and layer, and are "
        "called (others)."
    ]
    assert said[0] in page_of(trace)


def test_long_tables_keep_their_largest_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = run_of(write_scripts([training(3, device=True)], tmp_path / "trace")).analysis
    rows = tuple(replace(analysis.phases[0], phase=f"phase {number}", wall_s=float(number)) for number in range(6))
    monkeypatch.setattr(short_tables, "MOST_ROWS", 4)
    short, said = short_analysis(analysis.replaced(phases=type(analysis.phases)(type(rows[0]), rows)), 1)
    assert [row.phase for row in short.phases] == ["phase 4", "phase 5"]
    long = (
        "Purposes (of 7), Processor time of the training loop (of 3), Crossings (of 3), "
        "Why devices did nothing (of 4), Phases (of 6)"
    )
    assert said == [f"These tables show their 2 largest rows: {long}."]


def some_iterations(lengths: list[int], entries_each: int) -> Iterations:
    ends = np.cumsum(lengths, dtype=np.uint64)
    count = len(lengths)
    return Iterations(
        ends - np.array(lengths, np.uint64),
        np.array(lengths, np.uint64),
        np.repeat(np.arange(count, dtype=np.uint32), entries_each),
        np.tile(np.arange(entries_each, dtype=np.uint32), count),
        np.ones(count * entries_each, np.uint64),
    )


def test_groups_of_iterations_sum_to_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = [5, 1, 9, 2, 2, 2, 7, 30, 4, 4, 3]
    monkeypatch.setattr(iterations, "MOST_LENGTHS", 4)
    monkeypatch.setattr(iterations, "SLOWEST", 2)
    found = some_iterations(lengths, 1)
    groups = replace(found, iteration=np.array([5], "u4")).grouped(0)
    assert groups.size == 3
    assert groups.lengths.tolist() == [15, 6, 41, 7]
    assert groups.shortest.tolist() == [1, 2, 4, 3]
    assert groups.longest.tolist() == [9, 2, 30, 4]
    assert groups.longest_at.tolist() == [2, 3, 7, 9]
    assert groups.known.tolist() == [2, 5, 7]
    assert groups.known_starts.tolist() == [6, 19, 28]
    assert groups.known_lengths.tolist() == [9, 2, 30]
    monkeypatch.setattr(iterations, "MOST_LENGTHS", 11)
    assert found.grouped(0).size == 1 and found.grouped(1).size == 3


@pytest.mark.parametrize(("lengths", "usual"), [([4, 10, 11, 12, 90], 11), ([4, 10], 7), ([5], 5)])
def test_a_usual_iteration_lies_between_the_quartiles(lengths: list[int], usual: float) -> None:
    found = replace(some_iterations(lengths, 1), function=np.zeros(len(lengths), "u4"), ticks=np.array(lengths, "u8"))
    assert found.usual(1).tolist() == [usual]


@pytest.mark.parametrize("most", [8, 40, 1000])
def test_the_slowest_iterations_keep_their_parts(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = [10] * 100
    lengths[41] = 90
    monkeypatch.setattr(iterations, "MOST_ENTRIES", most)
    found = some_iterations(lengths, 4).with_fewer_entries(0)
    assert len(found.iteration) <= most
    assert np.count_nonzero(found.iteration == 41) == 4
    assert len(found.ticks) == len(found.function) == len(found.iteration) == min(len(found.iteration), 400)


def test_a_page_with_as_little_as_can_be_is_made_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = write_scripts([many(300)], tmp_path / "trace")
    whole = page_of(trace)
    monkeypatch.setattr(make_page, "MOST_BYTES", 1)
    smallest = page_of(trace)
    assert "256 bins" in smallest and len(smallest) < len(whole)


def test_a_page_has_tracks_of_the_samples_that_took_longest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the samples of two processes, one, two, … nine ticks long, each process shows the three that took longest."""

    def rollouts() -> ProcessScript:
        samples = [Sample(100 + ticks, "math", 0, 1, (ticks, ticks)) for ticks in range(1, 10)]
        return ProcessScript(0, 1000, threads=[ThreadScript(0, 0, list(samples))])

    monkeypatch.setattr(trace_data, "MOST_SAMPLES", 6)
    run = run_of(write_scripts([rollouts(), rollouts()], tmp_path / "trace"))
    data = TraceData(run.name, run.swept, run.analysis, None, 0)
    header = data.header("")
    for process in header["processes"]:
        columns = process["samples"]["columns"]
        assert data.arrays[columns["ticks"]].tolist() == [7, 8, 9]
        assert data.arrays[columns["starts"]].tolist() == [100, 100, 100]
    assert "The timeline shows the 6 samples that took longest, of 18." in header["left_out"]
    none = TraceData(run.name, run.swept, run.analysis, None, 3).header("")
    assert [process["samples"] for process in none["processes"]] == [None, None]
