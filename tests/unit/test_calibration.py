"""Calibrations: kept, checked, found for a trace, and made out of the lengths of blocks."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from rlscope import _native
from rlscope._analysis import sweep
from rlscope.analysis.breakdown import analyze
from rlscope.analysis.correction import Bounds, Correction, Cost, Costs
from rlscope.analysis.sweep import sweep_trace
from rlscope.calibration import measure
from rlscope.calibration.calibration import (
    Calibration,
    Environment,
    cache_path,
    load,
    of_trace,
    save,
    this_environment,
    to_record_with,
)
from rlscope.calibration.workload import PROBES, Measured
from rlscope.cli.analyze import analyze as analyze_verb
from rlscope.cli.report import report as report_verb
from rlscope.errors import UsageError
from rlscope.model import Category
from rlscope.trace.reader import open_trace
from rlscope.trace.writer import TraceWriter

HERE = Environment("a cpu", 2, "monotonic", "3.11.7", "0.1.0")
MANIFEST: dict[str, Any] = {
    "machine": {"cpu": "a cpu", "cores": 2}, "python": "3.11.7", "rlscope_version": "0.1.0", "complete": True,
}  # fmt: skip


def cost(inside: float, outside: float, off: float = 0.0, gap: float = 0.0) -> Costs:
    """A cost in ns that may be `off` as much of itself, on both sides; of events after at least such a gap."""
    bounds = [Bounds(mean * (1 - off), mean, mean * (1 + off)) for mean in (inside, outside)]
    return (Cost(gap, bounds[0], bounds[1], std_ns=0.0, events=1000),)


CALIBRATION = Calibration(
    HERE,
    "2026-01-02T03:04:05Z",
    {"torch": "2.9"},
    {"operation": cost(1, 2), "boundary": cost(4, 6) + cost(4, 9, gap=50)},
)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "rlscope" / "calibration.json"


def test_the_cache_follows_xdg(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache_path() == own_cache
    for no_directory in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", no_directory)
        assert cache_path() == Path.home() / ".cache" / "rlscope" / "calibration.json"


def test_a_calibration_comes_back_as_it_was_written(own_cache: Path) -> None:
    save(CALIBRATION, own_cache)
    assert load(own_cache) == CALIBRATION


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("", "it is not JSON"),
        ("[]", "a calibration is to be a JSON object"),
        ({"schema": 2}, "of the field schema, 1 was expected, 2 was found"),
        ({"made_at": None}, "of the field made_at, a value of the kind str was expected, None was found"),
        ({"made_on": {"cpu": "a cpu"}}, "of the field made_on.cores, a value of the kind int was expected"),
        ({"costs": {"boundary": 3}}, "of the field costs.boundary, a value of the kind list was expected, 3 was found"),
        ({"costs": {"boundary": [3]}}, "costs.boundary[0]. is to be a JSON object"),
        (
            {"costs": {"boundary": []}},
            "costs.boundary, values of from_gap_ns that rise from 0 were expected, [] was found",
        ),
        (
            "from_gap_ns.=1",
            "costs.boundary, values of from_gap_ns that rise from 0 were expected, [1.0, 50.0] was found",
        ),
        ({"costs": {"engine": {}}}, "of the field costs.engine, one of operation, boundary, cuda was expected"),
        (
            "inside_ns.mean=-1",
            "of the field costs.boundary[0].inside_ns.mean, a number that is not negative was expected",
        ),
        ("inside_ns.mean=NaN", "costs.boundary[0].inside_ns.mean, a number that is not negative was expected, nan"),
        ("inside_ns.high=1", "of the field costs.boundary[0].inside_ns.mean, a number from 4 to 1.0 was expected, 4.0"),
    ],
)
def test_a_damaged_calibration_is_one_line_that_names_the_field(change: Any, said: str, own_cache: Path) -> None:
    save(CALIBRATION, own_cache)
    document = json.loads(own_cache.read_text())
    if isinstance(change, dict):
        text = json.dumps(document | change)
    elif "=" in change:
        path, _, value = change.partition("=")
        part, bound = path.split(".")
        if bound:
            document["costs"]["boundary"][0][part][bound] = float(value)
        else:
            document["costs"]["boundary"][0][part] = float(value)
        text = json.dumps(document)
    else:
        text = change
    own_cache.write_text(text)
    with pytest.raises(UsageError) as caught:
        load(own_cache)
    assert said.replace("from 4 to", "from 4.0 to") in str(caught.value)
    assert "run `rlscope calibrate` again" in str(caught.value) and "\n" not in str(caught.value)
    assert to_record_with() is None
    assert of_trace(MANIFEST, "monotonic") == str(caught.value)  # not asked for by name, so a reason and no error


def test_without_a_calibration_it_is_said(own_cache: Path) -> None:
    assert of_trace(MANIFEST, "monotonic") == f"there is no calibration in {own_cache}; run `rlscope calibrate`"
    with pytest.raises(UsageError, match=r"a calibration was expected in nowhere\.json, but there is no such file"):
        of_trace(MANIFEST, "monotonic", Path("nowhere.json"))


@pytest.mark.parametrize("field", ["cpu", "cores", "clock", "python", "rlscope"])
def test_a_foreign_calibration_is_refused_with_the_field(field: str, own_cache: Path) -> None:
    other: Any = 64 if field == "cores" else "other"
    foreign = replace(CALIBRATION, made_on=replace(HERE, **{field: other}))
    save(foreign, own_cache)
    found = of_trace(MANIFEST, "monotonic")
    assert isinstance(found, str) and f"{field} {getattr(HERE, field)!r} was expected, {other!r} was found" in found
    for arguments in ({"path": own_cache}, {}):
        manifest = MANIFEST if arguments else MANIFEST | {"calibration": foreign.to_json_dict()}
        with pytest.raises(
            UsageError, match=f"{field} .* was expected, .* was found; calibrate there, or analyze with"
        ):
            of_trace(manifest, "monotonic", **arguments)


def test_a_trace_keeps_the_calibration_it_was_recorded_with(own_cache: Path) -> None:
    assert to_record_with() is None
    save(replace(CALIBRATION, made_on=this_environment("tsc")), own_cache)
    kept = to_record_with()
    assert kept is not None
    save(replace(CALIBRATION, costs={}), own_cache)  # what the user measures later is not the trace's
    found = of_trace(MANIFEST | {"calibration": json.loads(json.dumps(kept | {"made_on": HERE.__dict__}))}, "monotonic")
    assert isinstance(found, Correction)
    assert found.costs == CALIBRATION.costs and found.source.startswith(
        "recorded with the trace, calibrated 2026-01-02"
    )


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """10 s, of which a million calls of a library take 5 s, and 1 s is in a CUDA call; torch is of version 2.9."""
    second, calls = 1_000_000_000, 1000
    writer = TraceWriter(tmp_path / "trace")
    process = writer.process(pid=7, start_ticks=0)
    process.properties({"versions": {"torch": "2.9"}})
    thread = process.thread(start_ticks=0)
    for call in range(calls):
        start = call * 10 * second // calls
        thread.begin_boundary(start, Category.BACKEND, "torch.add")
        thread.end(start + 5 * second // calls)
    thread.begin_boundary(10 * second, Category.CUDA, "cudaMalloc")
    thread.end(11 * second)
    process.stop(11 * second)
    return writer.write(MANIFEST)


# A millisecond each: a call of 5 ms spends 1 inside, and the 5 ms behind it 2.
MILLISECONDS = {"boundary": cost(1e6, 2e6, off=0.5)}


def test_corrected_tables(trace: Path) -> None:
    analysis = analyze(open_trace(trace), correction=Correction(MILLISECONDS, "a test", {"torch": "2.9"}))
    rows = analysis.breakdown.set_index("category")
    assert rows.loc["backend", "seconds"] == 5 and rows.loc["python", "seconds"] == 5
    corrected = rows[["corrected_seconds", "corrected_low_s", "corrected_high_s"]]
    assert corrected.loc["backend"].tolist() == pytest.approx([4, 3.5, 4.5])
    assert corrected.loc["python"].tolist() == pytest.approx([3, 2, 4])
    assert corrected.loc["cuda"].tolist() == pytest.approx([1, 1, 1])
    (process,) = analysis.processes.to_dict("records")
    assert process["corrected_wall_s"] == pytest.approx(corrected["corrected_seconds"].sum()) == pytest.approx(8)
    assert (process["corrected_wall_low_s"], process["corrected_wall_high_s"]) == pytest.approx((6.5, 9.5))
    assert process["uncorrectable_s"] == 0
    applied = analysis.correction
    assert applied is not None and analysis.uncorrected == ""
    assert applied.added_percent == pytest.approx(37.5)
    assert (applied.added_low_percent, applied.added_high_percent) == pytest.approx((100 * 1.5 / 9.5, 100 * 4.5 / 6.5))
    assert applied.notes == ("1 events of the kind cuda are of unknown cost: what they added is still in the times",)


def test_costs_by_the_gap_before_an_event(trace: Path) -> None:
    """Calls come 5 ms after an end, so they cost 3 ms outside; but the first begins with the process, and costs 2."""
    later = MILLISECONDS["boundary"] + cost(1e6, 3e6, gap=4e6) + cost(1e6, 9e6, gap=6e6)
    analysis = analyze(open_trace(trace), correction=Correction({"boundary": later}, "a test", {}))
    rows = analysis.breakdown.set_index("category")
    assert rows.loc["backend", "corrected_seconds"] == pytest.approx(4)
    assert rows.loc["python", "corrected_seconds"] == pytest.approx(2.001)


def test_noise_of_single_events_widens_intervals(trace: Path) -> None:
    """1000 events that are off by 1 ms each are off by sqrt(1000) ms together."""
    noisy = {"boundary": (replace(cost(1e6, 2e6)[0], std_ns=1e6),)}
    analysis = analyze(open_trace(trace), correction=Correction(noisy, "a test", {}))
    (process,) = analysis.processes.to_dict("records")
    half = (process["corrected_wall_high_s"] - process["corrected_wall_low_s"]) / 2
    assert half == pytest.approx(1.96 * np.sqrt(1000) * 1e-3, rel=1e-3)


def test_another_version_of_a_library_widens_intervals_and_is_said(trace: Path) -> None:
    analysis = analyze(open_trace(trace), correction=Correction(MILLISECONDS, "a test", {"torch": "2.8"}))
    rows = analysis.breakdown.set_index("category")
    assert rows.loc["backend", "corrected_low_s"] == pytest.approx(3)
    assert analysis.correction is not None
    assert (
        "twice as wide as calibrated, because the trace has torch 2.9 (calibrated with 2.8)"
        in analysis.correction.notes[1]
    )


def test_waits_for_other_processes_are_less_sure(tmp_path: Path) -> None:
    """The main process waits for a worker that recording made 3 s slower: it may have waited so much longer."""
    second = 1_000_000_000
    writer = TraceWriter(tmp_path)
    main = writer.process(pid=1)
    thread = main.thread()
    thread.begin_boundary(0, Category.WAIT, "_multiprocessing.recv")
    thread.end(8 * second)
    main.stop(8 * second)
    worker = writer.process(pid=2, parent_pid=1)
    thread = worker.thread()
    thread.begin_boundary(0, Category.BACKEND, "torch.add")
    thread.end(6 * second)
    worker.stop(8 * second)
    costs = {"boundary/torch": cost(1e9, 2e9)}
    analysis = analyze(open_trace(writer.write(MANIFEST)), correction=Correction(costs, "a test", {}))
    waited = analysis.breakdown.set_index("category").loc["wait"]
    assert (waited["corrected_seconds"], waited["corrected_low_s"], waited["corrected_high_s"]) == pytest.approx(
        (8, 5, 8)
    )
    assert analysis.processes["corrected_wall_low_s"].tolist() == pytest.approx([5, 5])


def test_changing_chunks_is_removed_without_being_calibrated(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    process = writer.process()
    thread = process.thread()
    thread.begin_operation(10, "a")
    thread.end(20)
    thread.new_chunk(switch_ticks=7)
    thread.begin_operation(40, "a")
    thread.end(50)
    process.stop(60)
    (file,) = writer.write().glob("*.rlscope")
    correction = sweep(file, costs={})["correction"]
    assert correction is not None
    assert correction["removed"] == [("(none)", "(none)", "(none)", "python", "cpu", (7 * 256,) * 3)]


def test_verbs_say_what_was_removed_or_why_not(trace: Path, tmp_path: Path, own_cache: Path) -> None:
    def run(verb: Any, *arguments: str) -> str:
        finished = CliRunner().invoke(verb, [str(trace), *arguments], catch_exceptions=False)
        assert finished.exit_code == 0
        return finished.output

    assert "times include what recording added: there is no calibration in" in run(analyze_verb)
    save(replace(CALIBRATION, costs=MILLISECONDS), own_cache)
    output = run(analyze_verb)
    assert "  recording added 38 % (16-69), removed; calibration: this user's calibration" in output
    assert "4.000 (3.500-4.500)" in output
    assert "times include what recording added: --correct none was given" in run(analyze_verb, "--correct", "none")
    document = json.loads(run(analyze_verb, "--correct", str(own_cache), "--json", "--by", "category"))
    assert document["breakdown"][0]["corrected_seconds"] == pytest.approx(3)
    assert "recording added 38 % (16-69), removed" in run(report_verb, "-o", str(tmp_path / "report"))
    page = (tmp_path / "report" / "index.html").read_text()
    assert "Recording added 38 % (16-69), removed" in page
    assert "corrected_seconds" in page and "corrected_wall_s" in page


# ---- measuring


def blocks_of(added_ns: float, repeated_ns: float, cycles: int, random: np.random.Generator) -> Measured:
    """Blocks of 10 iterations with 100 events each, on a machine that drifts and is noisy."""
    measured = Measured(iterations=10, recorded_iterations=40, on_ns={1: [], 4: [], 16: []})
    measured.probes_off_ns, measured.probes_on_ns = ({0: [], 50_000: [], 300_000: []} for _ in range(2))
    for cycle in range(cycles):
        drift = 1e7 * (1 + 0.2 * np.sin(cycle / 7))
        noise = random.normal(0, 2e4, size=6)
        measured.off_ns.append((int(drift + noise[0]), int(drift + noise[1])))
        lengths = [int(drift + 1000 * (added_ns + repeated_ns * more) + noise[2 + more % 4]) for more in (0, 0, 3, 15)]
        measured.on_ns[1].append(lengths[:2])
        measured.on_ns[4].append(lengths[2:3])
        measured.on_ns[16].append(lengths[3:])
        for gap, added in ((0, 45.0), (50_000, 55.0), (300_000, 145.0)):
            measured.probes_off_ns[gap].append(random.normal(1000 + gap / 300, 20))
            measured.probes_on_ns[gap].append(random.normal(1000 + gap / 300 + added, 20))
    return measured


@pytest.fixture
def repeated_trace(tmp_path: Path) -> Path:
    """4000 calls, of which 1000 in another one; 16 times the records' work took 20 ticks within calls, 10 elsewhere."""
    writer = TraceWriter(tmp_path / "repeated")
    process = writer.process()
    thread = process.thread()
    ticks = 0
    for name, inside, outside in (("4", 100, 50), ("16", 120, 60)):
        thread.begin_phase(ticks, name)
        for _ in range(1000):
            thread.begin_boundary(ticks + outside, Category.BACKEND, "torch.f")
            ticks += outside + inside
            thread.end(ticks)
        thread.end(ticks)
    for _ in range(1000):
        thread.begin_boundary(ticks, Category.BACKEND, "torch.f")
        thread.begin_boundary(ticks, Category.BACKEND, "torch.g")
        thread.end(ticks)
        thread.end(ticks)
    process.stop(ticks)
    return writer.write(MANIFEST)


def test_costs_from_blocks(repeated_trace: Path) -> None:
    swept = sweep_trace(open_trace(repeated_trace))
    measured = blocks_of(60, 20, cycles=200, random=np.random.default_rng(5))
    found = measure.process_costs(measured, swept, is_operation=False)
    assert found.events == 4000 - sum(PROBES.values())
    # Of 4000 calls 3000 are entered from Python, so b = 10/0.75, and a = 20 - b/4.
    assert found.share_inside == pytest.approx((20 - 10 / 3) / (20 - 10 / 3 + 40 / 3))
    added = 60 * 4000 / found.events
    near, later, latest = measure.costs_of([found] * 3)
    assert near.total_ns.mean == pytest.approx(added, abs=3)
    assert near.inside_ns.mean == pytest.approx(20 * added / 60 * found.share_inside, abs=1)
    assert near.std_ns >= 60
    assert (near.from_gap_ns, later.from_gap_ns, latest.from_gap_ns) == pytest.approx((0, 15_811, 122_474), abs=1)
    for cost_later, more in ((later, 10), (latest, 100)):
        assert cost_later.total_ns.mean == pytest.approx(near.total_ns.mean + more, abs=8)
        assert cost_later.inside_ns == near.inside_ns
        low, mean, high = cost_later.total_ns.low, cost_later.total_ns.mean, cost_later.total_ns.high
        assert near.total_ns.low < low < mean < high
        assert high - mean >= near.total_ns.high - near.total_ns.mean


def test_a_cost_is_never_less_than_what_its_records_take() -> None:
    """Of blocks in which recording shows no effect, the cost is that of repeating the records."""
    process = measure.ProcessCosts(np.full(50, -30.0), np.full(50, 20.0), 0.5, {}, 0.0, 1000)
    (found,) = measure.costs_of([process])
    assert (found.inside_ns, found.outside_ns) == (Bounds(10, 10, 10), Bounds(10, 10, 10))


def test_events_after_a_gap_do_not_cost_less() -> None:
    process = measure.ProcessCosts(np.full(50, 60.0), np.full(50, 20.0), 0.5, {50_000: np.full(50, -5.0)}, 0.0, 1000)
    near, later = measure.costs_of([process])
    assert near.total_ns == later.total_ns


def test_intervals_cover_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "RESAMPLES", 300)
    random = np.random.default_rng(7)
    covered = 0
    for _ in range(60):
        processes = [
            measure.ProcessCosts(
                random.normal(60 + shift, 40, size=120), random.normal(20, 2, size=120), 0.5, {}, 0.0, 120_000
            )
            for shift in random.normal(0, 1, size=measure.PROCESSES)
        ]
        (found,) = measure.costs_of(processes)
        covered += found.total_ns.low <= 60 <= found.total_ns.high
    assert covered >= 54


def test_measuring_for_real(tmp_path: Path) -> None:
    """The part that every Python has, for a moment."""
    trace = tmp_path / "trace"
    measured = measure._run("boundary", 0.2, trace)
    swept = sweep_trace(open_trace(trace))
    assert len(measured.off_ns) == len(measured.on_ns[16]) == len(swept.processes)
    found = measure.process_costs(measured, swept, is_operation=False)
    assert found.events > 0 and 0 <= found.share_inside <= 1
    assert np.isfinite(found.added).all() and np.median(found.repeated) > 0
    assert {gap: len(more) for gap, more in found.growth.items()} == dict.fromkeys(
        [gap for gap in PROBES if gap > 0], len(measured.off_ns)
    )


def test_a_part_that_is_not_there_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the library nothing is measured, and nothing fails."""
    (tmp_path / "gymnasium.py").write_text("raise ImportError('no gymnasium')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("sys.path", ["", str(tmp_path), *__import__("sys").path])
    assert measure._run("operation/simulation", 0.1, tmp_path / "trace").missing == "no gymnasium"


@pytest.mark.parametrize("times", [1, 4, 16])
def test_amplified_records_are_the_same_records(in_process: Callable[[], Path], times: int) -> None:
    _native.amplify(times)
    try:
        for _ in range(5000):  # over several chunks
            with _native.operation("outer"), _native.operation("inner"):
                pass
    finally:
        _native.amplify(1)
    found = sweep(in_process())
    assert (found["complete"], found["dropped_records"], found["events"]["operation"]) == (True, 0, 10_000)


@pytest.mark.parametrize("times", [0, 1001])
def test_amplification_has_limits(times: int) -> None:
    with pytest.raises(ValueError, match=f"a record is written 1 to 1000 times, not {times}"):
        _native.amplify(times)
