"""Random traces: the detail of the C++ sweep equals its slow twin's, and windows have the events of their script."""

import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from random_scripts import scripts
from trace_builder import ProcessScript, write_script
from twin_detail import DetailTwin, events_of, sample_spans

from rlscope._analysis import event_window, sweep
from rlscope.analysis.detail.swept import SweptDetail


def column(detail: SweptDetail, name: str, kind: str) -> list[int]:
    return np.frombuffer(getattr(detail, name), kind).tolist()


@given(scripts(), st.lists(st.integers(0, 320), max_size=6), st.sampled_from((1, 5, 1000)))
@settings(max_examples=200, deadline=None)
def test_detail_equals_its_twin(script: ProcessScript, ends: list[int], entries_per_chunk: int) -> None:
    borders = sorted(script.start + end for end in ends)
    options: dict[str, Any] = {"limit_ticks": script.limit, "coincident": script.coincident}
    with tempfile.TemporaryDirectory() as directory:
        path = write_script(script, Path(directory), entries_per_chunk)
        found = sweep(path, **options, borders=np.array(borders, "<u8").tobytes())
        plain = sweep(path, **options)
    detail = found.detail
    assert detail is not None and replace(found, detail=None) == plain
    twin = DetailTwin(script, borders)

    functions = [row[:5] for row in detail.functions]
    assert {row[:5]: row[6] for row in detail.functions if row[6]} == +twin.functions
    calls: Counter[tuple[str, ...]] = Counter()
    for stage, operation, category, _, function, count, _ in detail.functions:
        calls[stage, operation, category, function] += count
    expected: Counter[tuple[str, ...]] = Counter()
    for (stage, operation, category, _, function), count in twin.calls.items():
        expected[stage, operation, category, function] += count
    assert +calls == +expected

    bins: Counter[Any] = Counter()
    names = ("bins", "<u4"), ("bin_series", "<u4"), ("bin_ticks", "<u8")
    for number, series, ticks in zip(*(column(detail, name, kind) for name, kind in names), strict=True):
        if number < len(borders):
            bins[number, detail.series[series]] += ticks
    assert +bins == +twin.bins

    starts, lasts = column(detail, "iteration_starts", "<u8"), column(detail, "iteration_ends", "<u8")
    assert list(zip(starts, lasts, strict=True)) == twin.iterations
    of_iterations: Counter[Any] = Counter()
    names = ("iterations", "<u4"), ("iteration_functions", "<u4"), ("iteration_ticks", "<u8")
    for number, function, ticks in zip(*(column(detail, name, kind) for name, kind in names), strict=True):
        of_iterations[number, functions[function]] += ticks
    ended = {key: ticks for key, ticks in twin.of_iterations.items() if ticks and key[0] < len(twin.iterations)}
    assert of_iterations == ended

    phases = zip(column(detail, "phase_starts", "<u8"), column(detail, "phases", "<u4"), strict=True)
    assert [(start, detail.phase_names[phase]) for start, phase in phases] == twin.phase_starts

    assert [row[1:3] for row in detail.samples] == sorted(row[1:3] for row in detail.samples)
    assert Counter(tuple(row) for row in detail.samples) == Counter(sample_spans(twin))

    instances: dict[tuple[str, str], list[int]] = {}
    for stage, operation, count, ticks, lengths, _ in detail.instances:
        of = instances.setdefault((stage, operation), [0, 0, 0])
        instances[stage, operation] = [of[0] + count, of[1] + ticks, of[2] + sum(each for _, each in lengths)]
    assert instances == {
        key: [len(spans), sum(end - start for start, end in spans), len(spans)] for key, spans in twin.instances.items()
    }


@given(scripts(), st.integers(0, 200), st.integers(1, 6000), st.sampled_from((1, 5, 1000)))
@settings(max_examples=200, deadline=None)
def test_windows_have_the_events_of_the_script(script: ProcessScript, at: int, length: int, per_chunk: int) -> None:
    start = script.start + at
    with tempfile.TemporaryDirectory() as directory:
        path = write_script(script, Path(directory), per_chunk)
        window = event_window(path, start, start + length, 1000)
    assert window.end_ticks == start + length
    found = {}
    for events in window.threads:
        columns = ((events.starts, "<u8"), (events.ends, "<u8"), (events.names, "<u4"), (events.depths, "<u4"))
        rows = zip(*(np.frombuffer(data, kind).tolist() for data, kind in columns), strict=True)
        found[events.thread] = sorted((*span, *window.names[name], depth) for *span, name, depth in rows)
    assert found == events_of(script, start, start + length)
