"""`rlscope compare`: verdicts on traces whose difference is known, what is refused, and the gate's exit status."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from compared_runs import NO_CORE, US, compared, loop, of_version, write_run, write_side
from recording import call_here
from trace_builder import (
    CpuTime,
    End,
    ProcessScript,
    Progress,
    QueueScript,
    ThreadScript,
    Work,
    boundary,
    operation,
    parse_script,
    write_scripts,
)

from rlscope.analysis.analysis import analyze
from rlscope.compare.comparable import cautions
from rlscope.compare.comparison import Word, compare
from rlscope.compare.counts import Count, Counted
from rlscope.compare.estimate import ITERATIONS, RUNS
from rlscope.compare.folders import open_runs, read_runs
from rlscope.compare.gate import PASSED, Gate, counts_above
from rlscope.compare.parts import Kind
from rlscope.compare.run_times import Unit
from rlscope.compare.timings import Timing, write_timings
from rlscope.compare.verdict import changed_counts, changed_findings, verdict
from rlscope.model import Category, DeviceWork
from rlscope.report.remarks import core_lines
from rlscope.trace.reader import open_trace

#: Runs of one side scatter by so many microseconds of 10,000.
SCATTER = (-40, 10, 30)
S = 1_000_000_000


def side(folder: Path, microseconds: int = 0, function: str = "torch.addmm", first_s: int = 0) -> Path:
    """Three runs that scatter in simulation, and take longer in a function by so much."""
    more = [{"gymnasium.step": each} for each in SCATTER]
    return write_side(folder, [each | {function: each.get(function, 0) + microseconds} for each in more], first_s)


@pytest.fixture
def before(tmp_path: Path) -> Path:
    return side(tmp_path / "before")


@pytest.fixture
def after(tmp_path: Path) -> Path:
    return side(tmp_path / "after", 1000, first_s=1)


def test_a_slower_side_is_found_with_its_stage_layer_and_function(before: Path, after: Path) -> None:
    found = compared(before, after)
    assert (found.repeated, found.word) == (RUNS, Word.SLOWER)
    assert (found.base_s, found.other_s) == (pytest.approx(0.010), pytest.approx(0.011))
    assert found.change.value == pytest.approx(10)
    assert [(row.part.stage, row.difference.value) for row in found.sure(Kind.STAGE)] == [
        ("backpropagation", pytest.approx(0.001))
    ]
    assert [row.part.category for row in found.sure(Kind.CATEGORY)] == ["backend"]
    assert [row.part.function for row in found.sure(Kind.FUNCTION)] == ["torch.addmm"]
    assert verdict(found) == (
        "after is slower: 10 % more time per iteration (9.1 to 11 %), 11 ms instead of 10 ms, in 3 runs against 3. "
        "Backpropagation takes 1 ms more (1 to 1 ms); of it 1 ms in torch.addmm. No other stage differs for sure."
    )
    assert cautions(found) == []


def test_a_faster_side_is_found(before: Path, after: Path) -> None:
    found = compared(after, before)
    assert found.word is Word.FASTER
    assert (found.change.value, found.change.low, found.change.high) == pytest.approx((-9.1, -9.8, -8.4), abs=0.05)
    assert [(row.part.stage, row.difference.value) for row in found.sure(Kind.STAGE)] == [
        ("backpropagation", pytest.approx(-0.001))
    ]


def test_stages_of_an_iteration_sum_to_it(before: Path, after: Path) -> None:
    stages = [row.difference for row in compared(before, after).rows if row.part.kind is Kind.STAGE]
    assert sum(each.base for each in stages) == pytest.approx(0.010)
    assert sum(each.value for each in stages) == pytest.approx(0.001)


def test_what_scatters_more_than_it_differs_is_unclear(before: Path, tmp_path: Path) -> None:
    wide = write_side(tmp_path / "wide", [{"gymnasium.step": each} for each in (-900, 0, 1200)], first_s=1)
    found = compared(before, wide)
    assert (found.word, found.sure(*Kind)) == (Word.UNCLEAR, [])
    assert (found.change.value, found.change.low, found.change.high) == pytest.approx((1, -29, 31), abs=0.5)
    assert "To see 2 %, record about 142 runs of each side. No stage differs for sure." in verdict(found)


def test_a_difference_within_the_limit_is_the_same(before: Path, tmp_path: Path) -> None:
    found = compared(before, side(tmp_path / "again", 5, first_s=1))
    assert found.word is Word.SAME
    assert (found.change.value, found.change.low, found.change.high) == pytest.approx((0.05, -0.8, 0.9), abs=0.05)


def test_one_run_of_each_side_is_compared_within_itself(tmp_path: Path) -> None:
    """However sure it is of the iterations, it says that it knows nothing of other runs."""
    paths = [write_run(tmp_path / name, loop([{"torch.addmm": more}] * 9)) for name, more in (("a", 0), ("b", 1000))]
    found = compared(*paths)
    assert (found.repeated, found.word) == (ITERATIONS, Word.SLOWER)
    assert "within these runs of 8 and 8 iterations" in verdict(found)
    assert cautions(found) == [
        "a side has one run only, so the interval is within these runs: it does not hold how runs differ, and machines "
        "drift. Record 3 runs or more of each side before believing it: `rlscope bench -n 5` runs commands in turns"
    ]


def test_what_rules_find_on_one_side_alone_is_new_or_gone(tmp_path: Path) -> None:
    text = "process stop=1000\nthread 0\n0 + simulation\n500 -\n500 + {name}\n900 -\n900 + inference\n1000 -\n"
    a, b = (write_run(tmp_path / name, parse_script(text.format(name=name))) for name in ("inference", "log"))
    found = changed_findings(compared(a, b))
    assert (found["new"].keys(), found["gone"].keys()) == ({"RLS304"}, set())
    found = changed_findings(compared(b, a))
    assert (found["new"].keys(), found["gone"].keys()) == (set(), {"RLS304"})
    assert "New: RLS304 " in call_here("compare", a, b).stdout


def test_the_first_iteration_is_left_out(tmp_path: Path) -> None:
    slow_start = [{"torch.addmm": 90_000}, *[{}] * 4]
    a, b = (write_run(tmp_path / name, loop(lengths)) for name, lengths in (("a", slow_start), ("b", [{}] * 5)))
    found = compared(a, b)
    assert (found.base_s, found.other_s) == (0.010, 0.010)
    said = "The first iteration, left out, took 100 ms in a and 10 ms in b."
    assert said in call_here("compare", a, b).stdout


def test_iterations_with_an_evaluation_are_left_out_and_that_is_said(tmp_path: Path) -> None:
    a, b = (write_run(tmp_path / name, loop([{}] * 5, evaluated=places)) for name, places in (("a", (2,)), ("b", ())))
    found = compared(a, b)
    assert (found.base_s, found.base.count(ITERATIONS), found.other.count(ITERATIONS)) == (0.010, 3, 4)
    assert "a: iterations in which a policy was evaluated are left out, 1 of them" in cautions(found)


def test_timesteps_are_compared_where_iterations_differ(tmp_path: Path) -> None:
    sides = []
    for name, steps, more in (("small", 10, 0), ("large", 30, 10_000)):
        for number in range(3):
            script = loop([{"torch.addmm": more + 10 * number}] * 4, steps)
            write_run(tmp_path / name / f"run-{number + 1}", script, 2 * number + (name == "large"))
        sides.append(tmp_path / name)
    by_iteration, by_timestep = compared(*sides), compared(*sides, unit=Unit.TIMESTEP)
    assert (by_iteration.word, by_timestep.word) == (Word.SLOWER, Word.FASTER)
    assert cautions(by_iteration) == [
        "an iteration of small has 10 timesteps, one of large 30: --per timestep compares the same work"
    ]
    assert by_timestep.other_s == pytest.approx(0.02001 / 30) and cautions(by_timestep) == []
    assert "time per timestep" in verdict(by_timestep)


def without_iterations(folder: Path, more: int = 0, start_up: int = 0) -> Path:
    """Three runs of a loop of 19 ms, after which there is 1 ms of Python."""
    for number in range(3):
        lengths = [{"torch.addmm": more, "gymnasium.step": 10 * number}] * 2
        script = loop(lengths, reports=False, start_up=start_up)
        write_run(folder / f"run-{number + 1}", script, 2 * number)
    return folder


def test_of_runs_without_iterations_the_loops_are_compared(tmp_path: Path) -> None:
    found = compared(without_iterations(tmp_path / "a"), without_iterations(tmp_path / "b", more=1000))
    assert (found.base.unit, found.word, found.base_s) == (Unit.LOOP, Word.SLOWER, pytest.approx(0.01902))
    assert found.change.value == pytest.approx(11, abs=0.5)
    assert [row.part.function for row in found.sure(Kind.FUNCTION)] == ["torch.addmm"]
    for run in found.base.runs:
        assert run.means_s().sum() == pytest.approx(run.mean_s)


def test_a_loop_without_iterations_has_the_borders_that_the_analysis_has(tmp_path: Path) -> None:
    script = loop([{}] * 3, evaluated=[1], reports=False, start_up=5000)
    (run,) = read_runs(open_runs(write_run(tmp_path / "run", script)))
    life = analyze(open_trace(tmp_path / "run")).life
    assert life is not None and run.mean_s == pytest.approx(life.loop_ns / 1e9) == pytest.approx(0.029)


def test_a_loop_has_the_crossings_and_the_work_of_devices_that_lie_in_it(tmp_path: Path) -> None:
    """Before it and after it are a call and a kernel each, and in the loop between operations a call and 3 of 6 ms."""
    ms, thread = 1000 * US, ThreadScript(0, 0)
    for start, name in ((0, ""), (10, "simulation"), (20, ""), (25, "inference"), (50, "")):
        thread.statements += [operation(start * ms, name)] if name else []
        thread.statements += [boundary(start * ms, Category.BACKEND, "torch.mm"), End((start + 2) * ms)]
        thread.statements += [End((start + 5) * ms)] if name else []
    kernels = [Work(start * ms, (start + 3) * ms, DeviceWork.KERNEL, "gemm") for start in (1, 12, 28, 52)]
    script = ProcessScript(0, 60 * ms, threads=[thread], queues=[QueueScript(1, 0, [*kernels])])
    for number in range(6):
        write_run(tmp_path / "ab"[number % 2] / f"run-{number + 1}", script, 2 * number)
    found = compared(tmp_path / "a", tmp_path / "b")
    assert (found.base.unit, found.base_s) == (Unit.LOOP, pytest.approx(0.020))
    assert {row.part.kind: row.difference.base for row in found.rows}[Kind.DEVICE] == pytest.approx(0.005)
    counted = {row.count: row.base for row in found.counts}
    assert counted[Count(Counted.CROSSINGS)] == (3, 3, 3)
    assert counted[Count(Counted.CALLS, "inference", "torch.mm")] == (1, 1, 1)
    assert counted[Count(Counted.CALLS)] == (2, 2, 2)


def test_the_process_that_paces_the_run_is_compared(tmp_path: Path) -> None:
    """The other one reports more iterations, and is busy for a hundredth of the time."""
    for side_name, more in (("a", 0), ("b", 1000)):
        for number in range(3):
            learner = loop([{"torch.addmm": more + 10 * number}] * 4)
            logger = ThreadScript(0, 0, [Progress(0, 0, 0, is_baseline=True)])
            for log in range(9):
                now = 1000 * US * log
                logger.statements += [
                    operation(now, "log_all"),
                    End(now + 50 * US),
                    Progress(now + 60 * US, log + 1, 0),
                ]
            other = ProcessScript(0, 10_000 * US, threads=[logger])
            write_run(tmp_path / side_name / f"run-{number + 1}", learner, 2 * number, others=[other])
    found = compared(tmp_path / "a", tmp_path / "b")
    (run, *_) = read_runs(open_runs(tmp_path / "a" / "run-1"))
    account = analyze(open_trace(tmp_path / "a" / "run-1"))
    assert account.path is not None and account.path.process == "main"
    assert (found.base.unit, found.base_s, found.other_s) == (
        Unit.ITERATION,
        pytest.approx(0.01001),
        pytest.approx(0.01101),
    )
    assert (len(run.lengths), run.timesteps) == (3, 1)


def test_starting_up_for_longer_is_no_slower_loop(tmp_path: Path) -> None:
    found = compared(without_iterations(tmp_path / "a"), without_iterations(tmp_path / "b", start_up=90_000))
    assert (found.word, found.change.value) == (Word.SAME, pytest.approx(0))


def test_runs_in_which_nothing_shows_a_loop_are_compared_as_wholes(tmp_path: Path) -> None:
    for name, length in (("a", 10_000), ("b", 11_000)):
        for number in range(3):
            thread = ThreadScript(0, 0, [boundary(0, Category.BACKEND, "torch.mm"), End(length * US)])
            script = ProcessScript(0, (length + 10 * number) * US, threads=[thread])
            write_run(tmp_path / name / f"run-{number + 1}", script, 2 * number)
    found = compared(tmp_path / "a", tmp_path / "b")
    assert (found.base.unit, found.word, found.base_s) == (Unit.RUN, Word.SLOWER, pytest.approx(0.01001))
    assert found.change.value == pytest.approx(10, abs=0.5)


def test_a_loop_on_one_side_only(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", loop([{}] * 4, reports=False))
    b = write_run(tmp_path / "b", ProcessScript(0, 10 * US, threads=[ThreadScript(0, 0)]))
    assert "with a loop but no iterations and b" in refused(a, b)


def test_one_run_without_iterations_has_no_interval(tmp_path: Path) -> None:
    paths = [
        write_run(tmp_path / name, loop([{"torch.addmm": more}], reports=False))
        for name, more in (("a", 0), ("b", 1000))
    ]
    found = compared(*paths)
    assert (found.word, found.change.low) == (Word.UNCLEAR, None)
    stages = {row.part.stage: row.difference for row in found.rows if row.part.kind is Kind.STAGE}
    assert (stages["backpropagation"].value, stages["simulation"].value) == (pytest.approx(0.001), pytest.approx(0))
    assert {(row.difference.low, row.difference.is_sure) for row in found.rows} == {(None, False)}
    causes = {row.part.cause: row.difference.value for row in found.rows if row.part.kind is Kind.CAUSE}
    assert causes["update, PyTorch"] == pytest.approx(0.001)
    assert "update, PyTorch takes 1 ms more" in verdict(found)


def test_runs_of_one_side_that_all_came_first_may_differ_by_the_machine(before: Path, tmp_path: Path) -> None:
    found = compared(before, side(tmp_path / "later", 1000, first_s=100))
    assert cautions(found) == [
        "all runs of before came before those of later, so a machine that changed meanwhile would look the same: "
        "`rlscope bench -n 5` runs commands in turns"
    ]


def test_what_may_explain_a_difference_is_said(before: Path, tmp_path: Path) -> None:
    facts = {"machine": {"cpu": "fast", "cores": 8}, "python": "3.13.1"}
    for number in range(3):
        write_run(tmp_path / "elsewhere" / f"run-{number + 1}", loop([{}] * 5), 2 * number, **facts)
    found = cautions(compared(before, tmp_path / "elsewhere"))
    assert "the machine of before is unknown, that of elsewhere fast, 8 cores" in found
    assert "the Python of before is unknown, that of elsewhere 3.13.1" in found


def test_the_share_without_a_core_is_said_of_both_sides(before: Path, tmp_path: Path) -> None:
    after = side(tmp_path / "after", 500, NO_CORE, first_s=1)
    (found,) = json.loads(call_here("compare", before, after, "--json").stdout)["comparisons"]
    assert (found["base"]["no_core_share"], found["other"]["no_core_share"]) == (0, pytest.approx(0.05, rel=0.01))
    assert len(found["other"]["runs"]) == 3
    assert all(run["no_core_share"] == pytest.approx(0.05, rel=0.01) for run in found["other"]["runs"])
    output = call_here("compare", before, after).stdout
    assert "before waited for a core for 0 % of its time, after for 5 %." in " ".join(output.split())


def test_the_share_without_a_core_is_unknown_of_a_trace_that_does_not_tell_it(before: Path, tmp_path: Path) -> None:
    after = side(tmp_path / "after", 500, first_s=1)
    of_version(after / "run-2", 9)
    assert analyze(open_trace(after / "run-1")).no_core_share == 0
    old = analyze(open_trace(after / "run-2"))
    assert (old.no_core_share, old.cores.wanted, len(core_lines(old))) == (None, None, 1)
    (found,) = json.loads(call_here("compare", before, after, "--json").stdout)["comparisons"]
    assert (found["base"]["no_core_share"], found["other"]["no_core_share"]) == (0, None)
    assert [run["no_core_share"] for run in found["other"]["runs"]] == [0, None, 0]
    assert not any("for a core" in each for each in found["cautions"])
    output = " ".join(call_here("compare", before, after).stdout.split())
    assert "before waited for a core for 0 % of its time, after for an unknown share." in output


@pytest.mark.parametrize(("longer", "is_warned"), [(0, True), (300, True), (1000, False)])
def test_a_side_that_lacked_a_core_for_more_than_the_difference_is_warned_of(
    longer: int, is_warned: bool, before: Path, tmp_path: Path
) -> None:
    more = [{"gymnasium.step": each, "torch.addmm": longer, NO_CORE: 500} for each in SCATTER]
    found = cautions(compared(before, write_side(tmp_path / "after", more, 1)))
    warned = [each for each in found if each.startswith("after waited for a core for ")]
    assert (warned == found, bool(warned)) == (True, is_warned)


def test_what_is_missing_from_a_trace_is_said(before: Path, tmp_path: Path) -> None:
    broken = side(tmp_path / "broken", first_s=1)
    manifest = json.loads((broken / "run-2" / "manifest.json").read_text())
    (broken / "run-2" / "manifest.json").write_text(json.dumps(manifest | {"complete": False}))
    assert [each for each in cautions(compared(before, broken)) if each.startswith("incomplete: ")] == [
        f"incomplete: {broken / 'run-2'}: the manifest is not complete: `rlscope record` was killed or is still running"
    ]


def test_a_cost_of_recording_as_large_as_the_difference_leaves_no_verdict(before: Path, after: Path) -> None:
    found = compared(before, after)
    for run in found.other.runs:
        object.__setattr__(run, "corrected", 0.8)
    for run in found.base.runs:
        object.__setattr__(run, "corrected", 1.0)
    turned = compare(found.base, found.other)
    assert (turned.word, turned.corrected_percent) == (Word.UNCLEAR, pytest.approx(-12))
    assert verdict(turned).startswith("No verdict: +10 % (9.1 to 11 %) time per iteration as recorded, -12 % without")
    assert any(each.startswith("without what recording added, the change would be -12 %") for each in cautions(turned))


# The verb.


@pytest.mark.parametrize(
    ("limit", "status", "word"),
    [
        ("5", 1, "Failed: after is slower by more than 5 % for sure"),
        ("10", 3, "Undecided: whether after is slower by more than 10 %"),
        ("15", 0, "Passed: after"),
    ],
)
def test_the_gate(limit: str, status: int, word: str, before: Path, after: Path) -> None:
    finished = call_here("compare", before, after, "--fail-above", limit)
    assert finished.returncode == status and finished.stderr == ""
    assert word in " ".join(finished.stdout.split())


def test_without_a_limit_a_slower_side_is_no_failure(before: Path, after: Path) -> None:
    assert call_here("compare", before, after).returncode == 0


def test_a_gate_decides_nothing_from_one_run(before: Path, after: Path) -> None:
    finished = call_here("compare", before, after / "run-1", "--fail-above", 5)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert "--fail-above needs 3 runs or more of each side, but run-1 has 1" in finished.stderr


def test_several_sides_are_compared_with_the_first(before: Path, after: Path, tmp_path: Path) -> None:
    same = side(tmp_path / "same", 0, first_s=1)
    finished = call_here("compare", before, same, after, "--fail-above", 5, "--json")
    document = json.loads(finished.stdout)
    assert [(each["other"]["name"], each["word"], each["status"]) for each in document["comparisons"]] == [
        ("same", "same", 0),
        ("after", "slower", 1),
    ]
    assert finished.returncode == 1


def test_json_has_all_parts(before: Path, after: Path) -> None:
    (found,) = json.loads(call_here("compare", before, after, "--json").stdout)["comparisons"]
    assert (found["unit"], found["repeated"], found["base_s"], found["status"]) == ("iteration", "runs", 0.010, None)
    assert [run["iterations"] for run in found["other"]["runs"]] == [4, 4, 4]
    addmm = next(row for row in found["rows"] if row["function"] == "torch.addmm")
    assert (addmm["kind"], addmm["stage"], addmm["sure"]) == ("function", "backpropagation", True)
    assert (addmm["base"], addmm["other"]) == (0.004, 0.005)
    causes = {row["cause"]: row for row in found["rows"] if row["kind"] == "cause"}
    update = causes["update, PyTorch"]
    assert (update["base"], update["other"], update["sure"]) == (pytest.approx(0.020), pytest.approx(0.025), True)
    assert sum(row["base"] for row in causes.values()) == pytest.approx(0.050)


def test_it_looks_like_this(before: Path, after: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    golden = Path(__file__).parent.parent / "golden" / "terminal" / "compare.txt"
    assert call_here("compare", before, after, "--fail-above", 5).stdout == golden.read_text(encoding="utf-8")


def test_no_line_is_wider_than_the_terminal(before: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    shutil.copytree(before, tmp_path / ("long" * 30))
    lines = call_here("compare", before, tmp_path / ("long" * 30)).stdout.splitlines()
    assert lines and max(map(len, lines)) <= 60


# What is counted.


def updated(folder: Path, updates: Sequence[int], took: int = 9000, first_s: int = 0) -> Path:
    """A run for each number: two iterations of so many updates, which are a call of `took` microseconds each."""
    for number, count in enumerate(updates):
        thread, now = ThreadScript(0, 0, [Progress(0, 0, 0, is_baseline=True)]), 0
        for iteration in range(2):
            for _ in range(count):
                thread.statements += [operation(now, "backpropagation"), boundary(now, Category.BACKEND, "torch.addmm")]
                now += took * US
                thread.statements += [End(now), End(now)]
            now += 1000 * US
            thread.statements += [CpuTime(now, took * US), Progress(now, iteration + 1, 0)]
        write_run(folder / f"run-{number + 1}", ProcessScript(0, now, threads=[thread]), first_s + 2 * number)
    return folder


def test_a_doubled_update_is_found_by_one_run_of_each_side(tmp_path: Path) -> None:
    """Its time says nothing: the machine is twice as fast."""
    once, twice = updated(tmp_path / "once", [4]), updated(tmp_path / "twice", [8], took=4500)
    found = compared(once, twice)
    assert found.word is Word.UNCLEAR
    rows = {row.count: (row.base, row.other) for row in found.counts}
    assert rows[Count(Counted.CALLS, "backpropagation", "torch.addmm")] == ((4,), (8,))
    assert rows[Count(Counted.OPERATIONS)] == ((4,), (8,))
    assert [row.count.name for row in changed_counts(found)] == ["", "", "", "backpropagation", "torch.addmm"]
    assert call_here("compare", once, twice, "--fail-above-counts", 2).returncode == 1
    assert call_here("compare", twice, once, "--fail-above-counts", 2).returncode == 0
    assert call_here("compare", once, once, "--fail-above-counts", 2).returncode == 0


def test_counts_that_scatter_are_above_only_if_all_runs_are(tmp_path: Path) -> None:
    base, other = updated(tmp_path / "base", [4, 5, 6]), updated(tmp_path / "other", [6, 7, 8], first_s=1)
    assert not any(row.is_apart for row in compared(base, other).counts)
    assert Gate(counts=2).status(compared(base, other)) == PASSED
    above = updated(tmp_path / "above", [7, 7, 8], first_s=1)
    assert {row.count.counted for row in counts_above(compared(base, above), 2)} == {
        Counted.OPERATIONS,
        Counted.CALLS,
        Counted.CROSSINGS,
    }
    assert (Gate(counts=2).status(compared(base, above)), Gate(counts=20).status(compared(base, above))) == (1, 0)


def test_json_has_counts_and_what_both_gates_decide(tmp_path: Path) -> None:
    once, twice = updated(tmp_path / "once", [4, 4, 4]), updated(tmp_path / "twice", [8, 8, 8], 4500, 1)
    document = json.loads(
        call_here("compare", once, twice, "--fail-above", 50, "--fail-above-counts", 2, "--json").stdout
    )
    assert (document["fail_above_percent"], document["fail_above_counts_percent"]) == (50, 2)
    (found,) = document["comparisons"]
    assert (found["status"], len(found["gate"])) == (1, 2)
    (addmm,) = [row for row in found["counts"] if row["name"] == "torch.addmm"]
    assert addmm == {
        "counted": "calls", "stage": "backpropagation", "name": "torch.addmm", "base": 4, "other": 8, "apart": True,
    }  # fmt: skip


def test_runs_that_were_only_timed_count_nothing(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_timings(tmp_path / name, ["true"], "a machine", [Timing(S, S)] * 3)
    said = refused(tmp_path / "a", tmp_path / "b", "--fail-above-counts", 2)
    assert "--fail-above-counts needs recorded runs" in said


# A baseline.


def test_a_baseline_stands_for_its_runs(before: Path, after: Path, tmp_path: Path) -> None:
    finished = call_here("baseline", before, "-o", tmp_path / "base.json")
    assert finished.returncode == 0, finished.stderr
    kept, whole = compared(tmp_path / "base.json", after), compared(before, after)
    assert (kept.word, kept.repeated) == (whole.word, whole.repeated)
    for name in ("value", "low", "high"):
        assert getattr(kept.change, name) == pytest.approx(getattr(whole.change, name), rel=1e-5)
    for row, other in zip(kept.rows, whole.rows, strict=True):
        assert row.part == other.part
        assert row.difference.base == pytest.approx(other.difference.base, rel=1e-6)
    assert [(row.count, row.base) for row in kept.counts] == [(row.count, row.base) for row in whole.counts]
    assert kept.base.findings == whole.base.findings and kept.base.runs[0].facts == whole.base.runs[0].facts


def test_a_baseline_of_one_run_is_compared_by_counts(tmp_path: Path) -> None:
    call_here("baseline", updated(tmp_path / "once", [4]), "-o", tmp_path / "base.json")
    twice = updated(tmp_path / "twice", [8])
    assert call_here("compare", tmp_path / "base.json", twice, "--fail-above-counts", 2).returncode == 1
    assert compared(tmp_path / "base.json", twice).change.has_interval is False


@pytest.mark.parametrize(
    "text", ["", "[]", '{"schema": 9, "runs": []}', '{"schema": 1, "runs": []}', '{"schema": 1, "runs": [{"unit": 3}]}']
)
def test_a_file_that_is_no_baseline(text: str, before: Path, tmp_path: Path) -> None:
    (tmp_path / "base.json").write_text(text)
    said = refused(tmp_path / "base.json", before)
    assert "is no baseline" in said and len(said.splitlines()) == 1


def test_a_baseline_replaces_only_what_rlscope_wrote(before: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text("{}")
    assert call_here("baseline", before, "-o", tmp_path / "mine.json").returncode == 2
    assert (tmp_path / "mine.json").read_text() == "{}"
    for _ in range(2):
        assert call_here("baseline", before, "-o", tmp_path / "base.json").returncode == 0


# What is refused.


def refused(*words: object) -> str:
    finished = call_here("compare", *words)
    assert (finished.returncode, finished.stdout) == (2, "")
    return finished.stderr


def test_one_side_is_not_enough(before: Path) -> None:
    assert "two sides or more were expected, but one was given" in refused(before)


def test_a_folder_without_runs(before: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "a folder of traces or times, was expected at" in refused(before, tmp_path / "empty")
    assert "a trace directory was expected at" in refused(before, tmp_path / "missing")


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"layers": ["wait"], "counters": []}, "is simulator, backend, cuda, wait and"),
        ({"layers": ["simulator", "backend", "cuda", "wait"], "counters": ["sm__cycles"]}, "without counters and"),
    ],
    ids=["layers", "counters"],
)
def test_runs_that_were_recorded_in_another_way(other: dict[str, list[str]], said: str, tmp_path: Path) -> None:
    usual = {"layers": ["simulator", "backend", "cuda", "wait"], "counters": []}
    for name, config in (("a", usual), ("b", other)):
        write_run(tmp_path / name, loop([{}] * 4))
        (tmp_path / name / "config.json").write_text(json.dumps(config))
    assert said in refused(tmp_path / "a", tmp_path / "b")


def test_iterations_on_one_side_only(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", loop([{}] * 4))
    b = write_run(tmp_path / "b", loop([{}] * 4, reports=False))
    assert "with iterations and b" in refused(a, b)
    assert "--per iteration needs runs with iterations" in refused(b, b, "--per", "iteration")


def test_times_beside_recordings(before: Path, tmp_path: Path) -> None:
    (tmp_path / "timed").mkdir()
    write_timings(tmp_path / "timed", ["true"], "a machine", [Timing(S, S)] * 3)
    assert "only timed; record all of them, or time all" in refused(before, tmp_path / "timed")


# Runs that were only timed.


def test_times_are_compared(tmp_path: Path) -> None:
    for name, lengths in (("a", (100, 101, 102)), ("b", (120, 121, 122))):
        (tmp_path / name).mkdir()
        timings = [Timing((1000 + 2 * place) * S, 10_000_000 * length) for place, length in enumerate(lengths)]
        write_timings(tmp_path / name, ["python", name], "a machine", timings)
    finished = call_here("compare", tmp_path / "a", tmp_path / "b", "--fail-above", 5)
    assert finished.returncode == 1
    assert finished.stdout.startswith("b is slower: 20 % more time per run (17 to 22 %), 1.21 s instead of 1.01 s")
    assert "stage" not in finished.stdout


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"schema": 1, "command": [], "machine": "", "runs": [{"length_ns": -1}]}',
        '{"schema": 2, "command": [], "machine": "", "runs": []}',
    ],
)
def test_a_damaged_file_of_times(text: str, before: Path, tmp_path: Path) -> None:
    (tmp_path / "timed").mkdir()
    (tmp_path / "timed" / "times.json").write_text(text)
    assert "times.json holds no times of `rlscope bench --time`" in refused(tmp_path / "timed", before)


# The page.


def test_a_page_has_the_verdict_and_the_rows(before: Path, after: Path, tmp_path: Path) -> None:
    finished = call_here("compare", before, after, "--html", tmp_path / "page.html", "--fail-above", 5)
    page = (tmp_path / "page.html").read_text()
    assert finished.returncode == 1
    assert "<strong>after is slower: 10 % more time per iteration" in page
    assert "<td>backpropagation / torch.addmm</td><td class='number'>4</td><td class='number'>5</td>" in page
    assert "Failed: after is slower by more than 5 % for sure" in page and "script-src" in page


def test_a_name_is_text_on_the_page(before: Path, tmp_path: Path) -> None:
    shutil.copytree(before, tmp_path / "<img src=x>")
    call_here("compare", before, tmp_path / "<img src=x>", "--html", tmp_path / "page.html")
    assert "<img" not in (tmp_path / "page.html").read_text()


def test_a_page_of_several_traces_compares_the_first_with_the_others(tmp_path: Path) -> None:
    a, b = (write_run(tmp_path / name, loop([{"torch.addmm": more}] * 6)) for name, more in (("a", 0), ("b", 1000)))
    idle = write_scripts([loop([{}], reports=False)], tmp_path / "idle")
    call_here("report", a, b, "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "<h2>Compare: b with a</h2>" in page and "so the interval is within these runs" in page
    call_here("report", a, idle, "-o", tmp_path / "page.html")
    assert "The traces are not compared: runs of one kind were expected" in (tmp_path / "page.html").read_text()
