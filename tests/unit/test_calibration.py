"""Calibrations: kept, checked, found for a trace, and made out of the lengths of bursts."""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from known_loops import EVENTS, lengths_of, loop_found, write_twin

from benchmarks.trace_writer import TraceWriter
from rlscope import _native
from rlscope._analysis import sweep
from rlscope.analysis.analysis import analyze
from rlscope.analysis.correction.corrected import Correction
from rlscope.analysis.correction.costs import Bounds, Cost
from rlscope.calibration import measure
from rlscope.calibration.calibration import (
    Calibration,
    Conditions,
    cache_path,
    conditions_here,
    load,
    of_trace,
    save,
    to_record_with,
)
from rlscope.calibration.twins import MEASURED
from rlscope.calibration.workload import LOOPS, Measured
from rlscope.cli.analyze import analyze as analyze_verb
from rlscope.cli.calibrate import calibrate as calibrate_verb
from rlscope.cli.report import report as report_verb
from rlscope.errors import UsageError
from rlscope.model import Category
from rlscope.report.sentences import correction_lines
from rlscope.trace.manifest import seal, unsealed
from rlscope.trace.reader import open_trace

HERE = Conditions("a cpu", 2, "monotonic", "3.11.7", "0.1.0")
MANIFEST: dict[str, Any] = {
    "machine": {"cpu": "a cpu", "cores": 2}, "python": "3.11.7", "rlscope_version": "0.1.0", "complete": True,
}  # fmt: skip


def cost(inside: float, outside: float, off: float = 0.0) -> Cost:
    """A cost in ns that may be `off` as much of itself, on both sides."""
    bounds = [Bounds(mean * (1 - off), mean, mean * (1 + off)) for mean in (inside, 0.0, outside)]
    return Cost(*bounds, events=1000)  # type: ignore[arg-type]


CALIBRATION = Calibration(
    HERE,
    "2026-01-02T03:04:05Z",
    {"torch": "2.9"},
    {"operation": cost(1, 2), "boundary": cost(4, 6), "operation@stable_baselines3": cost(1, 5)},
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
        ({"schema": 4}, "of the field schema, 3 was expected, 4 was found"),
        ({"schema": 2}, "a calibration of schema 3 was expected, 2 was found, whose intervals are too narrow"),
        ({"made_at": None}, "of the field made_at, a value of the kind str was expected, None was found"),
        ({"made_on": {"cpu": "a cpu"}}, "of the field made_on.cores, a value of the kind int was expected"),
        ({"costs": {"boundary": 3}}, "costs.boundary. is to be a JSON object"),
        ({"costs": {"engine": {}}}, "of the field costs.engine, one of operation, boundary, cuda was expected"),
        ({"costs": {"engine@torch": {}}}, "of the field costs.engine@torch, one of operation, boundary, cuda was"),
        (
            "records_inside_ns.mean=-1",
            "of the field costs.boundary.records_inside_ns.mean, a number that is not negative was expected",
        ),
        (
            "rest_outside_ns.mean=NaN",
            "costs.boundary.rest_outside_ns.mean, a number that is not negative was expected, nan",
        ),
        (
            "rest_inside_ns.mean=1",
            "of the field costs.boundary.rest_inside_ns.mean, a number from 0.0 to 0.0 was expected, 1.0",
        ),
    ],
)
def test_a_damaged_calibration_is_one_line_that_names_the_field(change: Any, said: str, own_cache: Path) -> None:
    save(CALIBRATION, own_cache)
    document = unsealed(json.loads(own_cache.read_text()), own_cache)
    if isinstance(change, dict):
        text = seal(document | change)
    elif "=" in change:
        path, _, value = change.partition("=")
        part, bound = path.split(".")
        document["costs"]["boundary"][part][bound] = float(value)
        text = seal(document)
    else:
        text = change
    own_cache.write_text(text)
    with pytest.raises(UsageError) as caught:
        load(own_cache)
    assert said in str(caught.value)
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
    save(replace(CALIBRATION, made_on=conditions_here("tsc")), own_cache)
    kept = to_record_with()
    assert kept is not None
    save(replace(CALIBRATION, costs={}), own_cache)  # what the user measures later is not the trace's
    found = of_trace(MANIFEST | {"calibration": json.loads(json.dumps(kept | {"made_on": HERE.__dict__}))}, "monotonic")
    assert isinstance(found, Correction)
    assert found.costs == CALIBRATION.costs and found.source.startswith(
        "recorded with the trace, calibrated 2026-01-02"
    )


def test_an_old_calibration_in_a_trace_gives_way_to_the_users_own(own_cache: Path) -> None:
    kept = json.loads(json.dumps(CALIBRATION.to_json_dict())) | {"schema": 2}
    found = of_trace(MANIFEST | {"calibration": kept}, "monotonic")
    assert isinstance(found, str) and "the calibration in the trace: a calibration of schema 3 was expected" in found
    assert "run `rlscope calibrate` again" in found and "\n" not in found
    save(CALIBRATION, own_cache)
    found = of_trace(MANIFEST | {"calibration": kept}, "monotonic")
    assert isinstance(found, Correction) and "this user's calibration" in found.source


def test_the_kept_calibration_of_a_gpu_holds_how_much_programs_differ() -> None:
    kept = Path(__file__).parents[1] / "gpu" / "results" / "overhead_correction" / "calibration.json"
    call = load(kept).costs["cuda"].rest_inside_ns
    assert 0 < call.low < 0.6 * call.mean and 1.7 * call.mean < call.high


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """10 s, of which a million calls of a library take 5 s, and 1 s is in a CUDA call; torch 2.9, CUDA 13.0."""
    second, calls = 1_000_000_000, 1000
    writer = TraceWriter(tmp_path / "trace")
    process = writer.process(pid=7, start_ticks=0)
    process.properties({"versions": {"torch": "2.9"}})
    process.properties({"cuda": {"driver_version": 13000, "state": "recorded"}})
    thread = process.thread(start_ticks=0)
    for call in range(calls):
        start = call * 10 * second // calls
        thread.boundary(start, start + 5 * second // calls, Category.BACKEND, "torch.add")
    thread.boundary(10 * second, 11 * second, Category.CUDA, "cudaMalloc")
    process.stop(11 * second)
    return writer.write(MANIFEST)


# A millisecond each: a call of 5 ms spends 1 inside, and the 5 ms behind it 2.
MILLISECONDS = {"boundary": cost(1e6, 2e6, off=0.5)}


def off(uncertain_s: float, removed_s: float, event_s: float = 3e-3) -> float:
    """Half an interval of a time from which so much was removed, of events that took so long each."""
    return float(np.hypot(uncertain_s, 1.96 * np.sqrt(event_s * removed_s)))


def test_corrected_tables(trace: Path) -> None:
    analysis = analyze(open_trace(trace), correction=Correction(MILLISECONDS, "a test", {"torch": "2.9"}))
    rows = analysis.breakdown.table.set_index("category")
    assert rows.loc["backend", "seconds"] == 5 and rows.loc["python", "seconds"] == 5
    corrected = rows[["corrected_seconds", "corrected_low_s", "corrected_high_s"]]
    assert corrected.loc["backend"].tolist() == pytest.approx([4, 4 - off(0.5, 1), 4 + off(0.5, 1)])
    assert corrected.loc["python"].tolist() == pytest.approx([3, 3 - off(1, 2), 3 + off(1, 2)])
    assert corrected.loc["cuda"].tolist() == pytest.approx([1, 1, 1])
    (process,) = analysis.processes.table.to_dict("records")
    assert process["corrected_wall_s"] == pytest.approx(corrected["corrected_seconds"].sum()) == pytest.approx(8)
    low, high = 8 - off(1.5, 3), 8 + off(1.5, 3)
    assert (process["corrected_wall_low_s"], process["corrected_wall_high_s"]) == pytest.approx((low, high))
    assert process["uncorrectable_s"] == 0
    applied = analysis.correction
    assert applied is not None and analysis.uncorrected == ""
    assert applied.added_percent == pytest.approx(37.5)
    ends = (100 * (11 - high) / high, 100 * (11 - low) / low)
    assert (applied.added_low_percent, applied.added_high_percent) == pytest.approx(ends)
    assert applied.notes == ("1 events of the kind cuda are of unknown cost: what they added is still in the times",)


def test_noise_of_single_events_widens_intervals(trace: Path) -> None:
    """1000 events that are off by 3 ms each, as much as they take, are off by sqrt(1000) times that together."""
    analysis = analyze(open_trace(trace), correction=Correction({"boundary": cost(1e6, 2e6)}, "a test", {}))
    (process,) = analysis.processes.table.to_dict("records")
    half = (process["corrected_wall_high_s"] - process["corrected_wall_low_s"]) / 2
    assert half == pytest.approx(1.96 * np.sqrt(1000) * 3e-3, rel=1e-3)


def test_costs_of_programs_that_use_a_library(trace: Path) -> None:
    """They hold for all events of the kind, and for no other kind."""
    library = {"boundary/torch": cost(9e6, 9e6), "boundary@torch": MILLISECONDS["boundary"]}
    for name, costs in (
        ("torch", library),
        ("numpy", {"boundary": MILLISECONDS["boundary"], "boundary@numpy": cost(0, 0)}),
    ):
        analysis = analyze(open_trace(trace), correction=Correction(costs, "a test", {}))
        assert analysis.processes.table["corrected_wall_s"].tolist() == pytest.approx([8]), name
    other = {"boundary": MILLISECONDS["boundary"], "operation@torch": cost(9e6, 9e6)}
    analysis = analyze(open_trace(trace), correction=Correction(other, "a test", {}))
    assert analysis.processes.table["corrected_wall_s"].tolist() == pytest.approx([8])


@pytest.mark.parametrize(
    ("calibrated", "said"),
    [
        ({"torch": "2.8", "driver": "13.0"}, "torch 2.9 (calibrated with 2.8)"),
        ({"torch": "2.9", "driver": "12.8"}, "driver 13.0 (calibrated with 12.8)"),
    ],
)
def test_another_version_widens_intervals_and_is_said(trace: Path, calibrated: dict[str, str], said: str) -> None:
    analysis = analyze(open_trace(trace), correction=Correction(MILLISECONDS, "a test", calibrated))
    rows = analysis.breakdown.table.set_index("category")
    assert rows.loc["backend", "corrected_low_s"] == pytest.approx(4 - 2 * off(0.5, 1))
    assert analysis.correction is not None
    assert f"twice as wide as calibrated, because the trace has {said}" in analysis.correction.notes[1]


def test_waits_for_other_processes_are_less_sure(tmp_path: Path) -> None:
    """The main process waits for a worker that recording made 3 s slower: it may have waited so much longer."""
    second = 1_000_000_000
    writer = TraceWriter(tmp_path)
    main = writer.process(pid=1)
    thread = main.thread()
    thread.boundary(0, 8 * second, Category.WAIT, "_multiprocessing.recv")
    main.stop(8 * second)
    worker = writer.process(pid=2, parent_pid=1)
    thread = worker.thread()
    thread.boundary(0, 6 * second, Category.BACKEND, "torch.add")
    worker.stop(8 * second)
    costs = {"boundary/torch": cost(1e9, 2e9)}
    analysis = analyze(open_trace(writer.write(MANIFEST)), correction=Correction(costs, "a test", {}))
    waited = analysis.breakdown.table.set_index("category").loc["wait"]
    assert (waited["corrected_seconds"], waited["corrected_low_s"], waited["corrected_high_s"]) == pytest.approx(
        (8, 5, 8)
    )
    assert analysis.processes.table.set_index("pid")["corrected_wall_low_s"].loc[1] == pytest.approx(5)


@pytest.mark.parametrize("workers", [0, 9, 24])
def test_what_recording_added_is_of_the_process_that_paces_the_run(workers: int, tmp_path: Path) -> None:
    """2 of 10 s are recording, whoever waits beside."""
    second = 1_000_000_000
    writer = TraceWriter(tmp_path)
    main = writer.process(pid=1)
    thread = main.thread()
    thread.begin_operation(0, "simulation")
    for call in range(1000):
        thread.boundary(call * second // 100, call * second // 100 + second // 200, Category.BACKEND, "torch.add")
    thread.end(10 * second)
    main.stop(10 * second)
    for worker in range(workers):
        idle = writer.process(pid=2 + worker, parent_pid=1)
        thread = idle.thread()
        thread.boundary(0, 10 * second, Category.WAIT, "_multiprocessing.recv")
        idle.stop(10 * second)
    correction = Correction({"boundary": cost(1e6, 1e6, off=0.5), "operation": cost(0, 0)}, "a test", {})
    analysis = analyze(open_trace(writer.write({**MANIFEST, "main_pid": 1})), correction=correction)
    to = " to main" if workers else ""
    assert correction_lines(analysis)[0] == f"recording added 25 % (11 to 43 %){to}, removed; calibration: a test"


def test_changing_chunks_is_removed_without_being_calibrated(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    process = writer.process()
    thread = process.thread()
    thread.operation(10, 20, "a")
    thread.new_chunk(switch_ticks=7)
    thread.operation(40, 50, "a")
    process.stop(60)
    (file,) = writer.write().glob("*.rlscope")
    correction = sweep(file, costs={}).correction
    assert correction is not None
    assert correction.removed == [("(none)", "(none)", "(none)", "python", "cpu", "", (7 * 256,) * 3)]


def test_verbs_say_what_was_removed_or_why_not(trace: Path, tmp_path: Path, own_cache: Path) -> None:
    def run(verb: Any, *arguments: str) -> str:
        finished = CliRunner().invoke(verb, [str(trace), *arguments], catch_exceptions=False)
        assert finished.exit_code == 0
        return " ".join(finished.output.split())

    assert "times include what recording added: there is no calibration in" in run(analyze_verb, "--all")
    save(replace(CALIBRATION, costs=MILLISECONDS), own_cache)
    output = run(analyze_verb, "--all")
    assert "- recording added 38 % (16 to 70 %), removed; calibration: this user's calibration" in output
    assert "4 s (3.49 to 4.51 s)" in output
    assert "times include what recording added: --correct none was given" in run(
        analyze_verb, "--all", "--correct", "none"
    )
    document = json.loads(run(analyze_verb, "--correct", str(own_cache), "--json", "--by", "category"))
    assert document["breakdown"][0]["corrected_seconds"] == pytest.approx(3)
    assert "recording added 38 % (16 to 70 %), removed" in run(report_verb, "-o", str(tmp_path / "report"))
    page, figures = ((tmp_path / "report" / name).read_text() for name in ("index.html", "figures.html"))
    assert all("Recording added 38 % (16 to 70 %), removed" in text for text in (page, figures))


# ---- measuring


def test_costs_of_loops_that_are_known(tmp_path: Path) -> None:
    """Records take 20 ns; 8 of the 12 ticks by which repeating them makes an event longer lie inside it."""
    random = np.random.default_rng(5)
    many = 15 * 20
    loops = {}
    for loop, kind, total in (("annotations", "evaluate", 50), ("standard library", "zlib.crc32", 40)):
        lengths = lengths_of(random, {"on": total, "many": total + many})
        of_many = ({kind: 2}, 108, 54)
        loops[loop] = loop_found(tmp_path / loop, lengths, {"on": ({kind: 2}, 100, 50), "many": of_many})
    steps = {"simulation": 2}
    lengths = lengths_of(random, {"operations": 2000})
    loops["environment"] = loop_found(tmp_path / "environment", lengths, {"operations": (steps, 100, 50)})
    stages = {"simulation": 2, "inference": 1, "backpropagation": 1}
    lengths = lengths_of(random, {"operations": 6000, "backend": 200})
    script = {"operations": (stages, 100, 50), "backend": ({"torch.add": 2}, 100, 50)}
    loops["script"] = loop_found(tmp_path / "script", lengths, script)
    costs = measure.costs_of(loops)
    scale = EVENTS / 2  # each burst was said to add EVENTS times a number, and has 2 events
    expected = {"operation": 50, "boundary": 200, "operation/simulation": 2000, "boundary/torch": 200}
    # Of four events in a burst two are steps, which leaves 6000 - 2000 for the two others.
    expected |= {"operation/inference": 4000, "operation/backpropagation": 4000}
    assert set(costs) == set(expected)
    assert costs["boundary"].total_ns.low < 50 * scale < costs["boundary/torch"].total_ns.low  # as the standard library
    for key, total in expected.items():
        found = costs[key]
        assert found.total_ns.mean == pytest.approx(total * scale, rel=0.05, abs=30 * scale), key
        assert found.total_ns.low < found.total_ns.mean < found.total_ns.high
        records = found.records_inside_ns.mean + found.records_outside_ns.mean
        assert records == pytest.approx(20 * scale, rel=0.1)
        assert found.records_inside_ns.mean / records == pytest.approx(8 / 12)
        assert found.events > 0


def test_nested_calls_make_their_caller_longer(tmp_path: Path) -> None:
    """Of 4 calls 1 lies in another one; repeated records add 15 ticks inside each and 5 outside."""
    for twin, inside, outside in (("on", 100, 50), ("many", 115, 55)):
        writer = TraceWriter(tmp_path / twin)
        process = writer.process()
        thread = process.thread()
        thread.begin_phase(0, MEASURED)
        ticks = 0
        for _ in range(3):
            ticks += outside
            thread.begin_boundary(ticks, Category.BACKEND, "torch.f")
            ticks += inside
            thread.end(ticks)
        ticks += outside
        thread.begin_boundary(ticks, Category.BACKEND, "torch.f")
        ticks += outside
        thread.begin_boundary(ticks, Category.BACKEND, "torch.g")
        ticks += inside
        thread.end(ticks)
        ticks += inside
        thread.end(ticks)
        thread.end(ticks)
        process.stop(ticks)
        writer.write(MANIFEST)
    found = measure.LoopFound(Measured(lengths_ns={"off": [1], "on": [1], "many": [1]}), tmp_path)
    assert found.share_inside("boundary") == pytest.approx(15 / 20)


def test_nothing_takes_less_than_no_time() -> None:
    found = measure.Estimate(-5.0, np.linspace(-10, 1, 100)).bounds()
    assert found.low == found.mean == 0 and 0 < found.high < 1


def test_each_burst_of_a_cycle_counts(tmp_path: Path) -> None:
    """One in four is an update, to which recording adds much more: that is no exception to be left out."""
    off = [1000, 1000, 1000, 9000] * 25
    on = [1010, 1010, 1010, 9090] * 24 + [5000, 5000, 5000, 50000]
    write_twin(tmp_path / "on", {"evaluate": 1})
    found = measure.LoopFound(Measured(lengths_ns={"off": off, "on": on}, cycle=4), tmp_path)
    assert found.more_ns("on").mean == pytest.approx((3 * 10 + 90) / 4)


def test_intervals_cover_the_truth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 95 % they shall hold at least 90, of 200 calibrations."""
    monkeypatch.setattr(measure, "RESAMPLES", 200)
    random = np.random.default_rng(7)
    write_twin(tmp_path / "on", {"evaluate": 1})
    covered, widths = 0, []
    for _ in range(200):
        found = measure.LoopFound(Measured(lengths_ns=lengths_of(random, {"on": 60})), tmp_path)
        cost_of_burst = found.more_ns("on").bounds()
        covered += cost_of_burst.low <= 60 * EVENTS <= cost_of_burst.high
        widths.append(cost_of_burst.high - cost_of_burst.low)
    assert covered >= 180
    error_ns = 5e4 * np.sqrt(2 / 400)
    assert np.mean(widths) < 2 * 1.96 * 1.5 * error_ns  # it covers because it is right, not because it is wide


def test_measuring_for_real(tmp_path: Path) -> None:
    """The loop that every Python has, for a moment."""
    measured = measure._run("standard library", 0.4, tmp_path)
    found = measure.LoopFound(measured, tmp_path)
    assert {len(lengths) for lengths in measured.lengths_ns.values()} == {len(measured.lengths_ns["off"])}
    assert found.events("on").per_burst("boundary") == pytest.approx(
        found.events("many").per_burst("boundary"), rel=0.01
    )
    assert found.records_ns("boundary").mean > 0 and 0 <= found.share_inside("boundary") <= 1
    assert np.isfinite(found.cost_ns("on", "boundary").mean)


def test_calibrate_keeps_what_it_measured(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the loops that every Python has, for a moment, and one that needs a GPU."""
    loops = {name: LOOPS[name] for name in ("annotations", "standard library", "gpu")}
    monkeypatch.setattr(measure, "LOOPS", loops)
    monkeypatch.setattr("rlscope.calibration.workload.LOOPS", loops)
    measure_loop = measure._run
    monkeypatch.setattr(measure, "_run", lambda name, seconds, directory: measure_loop(name, 0.4, directory))
    finished = CliRunner().invoke(calibrate_verb, [], catch_exceptions=False)
    assert finished.exit_code == 0
    assert str(own_cache) in finished.output.replace("\n", "")
    found = load(own_cache)
    assert {"operation", "boundary"} <= set(found.costs)
    assert ("cuda" in found.costs) != ("not measured: gpu, because " in finished.output)
    assert all(0 <= cost.total_ns.low <= cost.total_ns.mean <= cost.total_ns.high for cost in found.costs.values())
    assert found.made_on == conditions_here(found.made_on.clock)


def test_a_loop_whose_library_is_not_there_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the library nothing is measured, and nothing fails."""
    (tmp_path / "gymnasium.py").write_text("raise ImportError('no gymnasium')\n")
    monkeypatch.setattr("sys.path", ["", str(tmp_path), *sys.path])
    assert measure._run("environment", 0.1, tmp_path).missing == "no gymnasium"


@pytest.mark.parametrize("times", [1, 4, 16])
def test_amplified_records_are_the_same_records(in_process: Callable[[], Path], times: int) -> None:
    _native.amplify(times)
    try:
        for _ in range(5000):  # over several chunks
            with _native.operation("outer"), _native.operation("inner"):
                pass
    finally:
        _native.amplify(1)
    found = vars(sweep(in_process()))
    assert (found["why"], found["dropped_records"], found["events"]["operation"]) == ((), 0, 10_000)


@pytest.mark.parametrize("times", [0, 1001])
def test_amplification_has_limits(times: int) -> None:
    with pytest.raises(ValueError, match=f"a record is written 1 to 1000 times, not {times}"):
        _native.amplify(times)
