"""The account: causes that sum to the wall time of the process that paces a run, and what they make one do."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pieces import Piece, send, traced
from random_scripts import scripts
from trace_builder import ProcessScript, analyzed, certain_cost, parse_script, write_scripts

from benchmarks.trace_writer import TraceWriter
from rlscope.analysis.account.account import _left_by_recording, group_name, public_name
from rlscope.analysis.account.causes import Cause
from rlscope.analysis.account.observations import notes, observations
from rlscope.analysis.account.words import account_lines, folded, unnamed_share
from rlscope.analysis.analysis import Analysis, analyze
from rlscope.analysis.correction.corrected import Correction
from rlscope.analysis.table_rows import BreakdownRow
from rlscope.analysis.tables.purposes import PurposeRow
from rlscope.model import ANOMALIES, COMPILING, STAGES, Category, Purpose
from rlscope.report.first_screen import MOST_LINES, screen_lines
from rlscope.report.screen import Screen
from rlscope.rules.rule import finding_text
from rlscope.text.numbers import percent
from rlscope.trace.manifest import read_manifest, write_manifest
from rlscope.trace.reader import open_trace

GOLDEN = Path(__file__).parent.parent / "golden"


def with_property(directory: Path, name: str, value: object, *operations: str) -> Analysis:
    """Of a process with this property, in these operations for equally long."""
    writer = TraceWriter(directory)
    process = writer.process(pid=1)
    process.properties({name: value})
    thread = process.thread()
    for place, operation in enumerate(operations):
        thread.operation(50 * place, 50 * (place + 1), operation)
    process.stop(50 * len(operations))
    return analyze(open_trace(writer.write({"main_pid": 1, "exit_status": 0, "complete": True})))


def codes(analysis: Analysis) -> list[str]:
    return [row.code for row in analysis.findings]


def changes(analysis: Analysis) -> list[str]:
    return [*map(finding_text, analysis.findings)]


def seconds(analysis: Analysis) -> dict[tuple[str, str, str], float]:
    """By cause, layer, and whom or what was waited for."""
    found: dict[tuple[str, str, str], float] = {}
    for row in analysis.account:
        key = row.cause, row.category, row.on
        found[key] = round(found.get(key, 0.0) + row.seconds, 9)
    return found


def test_what_is_not_for_training_is_a_cause_whatever_runs_in_it(tmp_path: Path) -> None:
    analysis = analyzed(tmp_path, (GOLDEN / "purposes.trace.txt").read_text())
    found = {row.cause: 0.0 for row in analysis.account}
    for row in analysis.account:
        found[row.cause] = round(found[row.cause] + row.seconds * 1e9)
    of_training = {*STAGES, Cause.NO_STAGE.value}
    assert {cause: ns for cause, ns in found.items() if cause not in of_training} == {
        "starting_up": 66 + 20, "afterwards": 140 + 10, "render": 15, "callback": 60, "compile": 10 + 4,
        "evaluation": 90, "garbage_collection": 25, "checkpoint": 50, "log": 10,
    }  # fmt: skip
    assert sum(found.values()) == 1000


@given(st.lists(scripts(), min_size=1, max_size=3))
@settings(max_examples=100, deadline=None)
def test_it_sums_to_the_wall_time_of_the_process_that_paces(processes: list[ProcessScript]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        analysis = analyze(open_trace(write_scripts(processes, Path(directory))))
    if analysis.path is None:
        assert not analysis.account
        return
    (wall_s,) = (row.wall_s for row in analysis.processes if row.process == analysis.path.process)
    assert sum(round(row.seconds * 1e9) for row in analysis.account) == round(wall_s * 1e9)
    assert {row.process for row in analysis.account} == {analysis.path.process}
    assert sum(row.share for row in analysis.account) == pytest.approx(1)
    assert all(row.seconds > 0 for row in analysis.account)


@given(st.lists(scripts(), min_size=1, max_size=3), st.integers(40, 120))
@settings(max_examples=50, deadline=None)
def test_the_screen_holds_it(processes: list[ProcessScript], width: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        analysis = analyze(open_trace(write_scripts(processes, Path(directory))))
    lines = screen_lines(analysis, Screen(max(width, 80)))
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= max(width, 80)


@pytest.mark.parametrize(
    ("status", "said"), [(None, ()), (0, ()), (3, ("failed with status 3",)), (-9, ("ended by SIGKILL",))]
)
def test_a_command_that_failed_is_said_to_have(status: int | None, said: tuple[str, ...], tmp_path: Path) -> None:
    trace = traced(tmp_path, {"main": [Piece(2, "simulation")]})
    write_manifest(trace, read_manifest(trace) | {"exit_status": status})
    assert analyze(open_trace(trace)).summary == ", ".join(["1 process", "2 s", *said])


@pytest.mark.parametrize(
    ("backend", "ran", "is_said"),
    [("torch.linear", 100, True), ("torch.linear", 700, False), ("jax.run", 100, False)],
)
def test_a_thread_that_keeps_the_interpreters_lock_is_told(
    backend: str, ran: int, is_said: bool, tmp_path: Path
) -> None:
    script = f"process stop=900\nthread 0\n0 + inference\n10 + backend:{backend}\n790 -\n800 ran {ran}\n800 -\n"
    said = observations(analyzed(tmp_path, script))
    assert [f"{ran} ns of 800 ns" in sentence for sentence in said] == [True] * is_said


@pytest.mark.parametrize(("busy", "is_said"), [(1.9, True), (0.4, False)])
def test_no_thread_keeps_the_lock_where_other_programs_had_the_cores(
    busy: float, is_said: bool, tmp_path: Path
) -> None:
    script = "process stop=900\nthread 0\n0 + inference\n10 + backend:torch.linear\n790 -\n800 ran 100\n800 -\n"
    trace = write_scripts([parse_script(script)], tmp_path)
    end = {"busy_cores": busy, "ready_threads": 9}
    write_manifest(trace, read_manifest(trace) | {"machine": {"cores": 2}, "end": end})
    assert ["interpreter's lock" in each for each in observations(analyze(open_trace(trace)))] == [True] * is_said


def test_time_without_a_core_is_never_what_the_thread_was_in(tmp_path: Path) -> None:
    work = [Piece(2, "simulation"), Piece(3, "inference", Category.NO_CORE), Piece(1, "evaluation", Category.NO_CORE)]
    analysis = analyze(open_trace(traced(tmp_path, {"main": work})))
    assert seconds(analysis) == {("simulation", "python", ""): 2, ("no_core", "no_core", ""): 4}


def test_a_wait_is_what_was_done_meanwhile_and_what_that_does_not_explain(tmp_path: Path) -> None:
    """Two workers simulate for 4 s while main waits for 10: 6 s are for nobody's work."""
    waits = [Piece(5, "simulation", Category.WAIT, f"posix.read pipe:[{number}]") for number in (1, 2)]
    main = [Piece(1, "inference", Category.BACKEND), *waits, Piece(1, "backpropagation")]
    workers = {
        f"worker-{number}": [Piece(4, "simulation", Category.SIMULATOR), send(f"pipe:[{number}]"), Piece(8)]
        for number in (1, 2)
    }
    analysis = analyze(open_trace(traced(tmp_path, {"main": main, **workers})))
    assert seconds(analysis) == {
        ("inference", "backend", ""): 1,
        ("simulation", "simulator", "worker-1 to 2"): 4,
        ("messages", "", "worker-1 to 2"): 6,
        ("backpropagation", "python", ""): 1,
    }
    assumed = {row.on for row in analysis.account if row.assumed}
    assert assumed == {"worker-1 to 2"}
    # All that they did takes 8 s in one process, and the waits for it took 10.
    assert ["8 s" in change and "10 s" in change for change in changes(analysis)] == [True]


@pytest.mark.parametrize(("in_core", "is_said"), [(1.0, True), (4.0, False)])
def test_what_workers_wait_for_cores_is_no_work_for_one_process(in_core: float, is_said: bool, tmp_path: Path) -> None:
    """Main waits 10 s for two workers, which have 1 s of work, or 4 + 1 s, and no core for 3 s."""
    main = [Piece(5, "simulation", Category.WAIT, f"posix.read pipe:[{number}]") for number in (1, 2)]
    work = [Piece(in_core, "simulation"), Piece(3, "", Category.NO_CORE), Piece(1, "simulation")]
    workers = {f"worker-{number}": [*work, send(f"pipe:[{number}]")] for number in (1, 2)}
    analysis = analyze(open_trace(traced(tmp_path, {"main": [*main, Piece(1, "inference")], **workers})))
    assert seconds(analysis)["no_core", "", "worker-1 to 2"] == 3
    assert ["4 s" in change and "10 s" in change for change in changes(analysis)] == [True] * is_said


def test_what_the_slowest_of_several_works_longer_is_waiting_for_it(tmp_path: Path) -> None:
    """Main waits 8 s for workers that work for 1 and 7 s, 4 s on average, and gets 3 of the other 4 s from one."""
    pipes = {1: 1.5, 2: 6.5}
    main = [Piece(s, "simulation", Category.WAIT, f"posix.read pipe:[{number}]") for number, s in pipes.items()]
    workers = {
        f"worker-{number}": [Piece(s, "simulation"), send(f"pipe:[{number}]"), Piece(9)]
        for number, s in ((1, 1), (2, 7))
    }
    analysis = analyze(open_trace(traced(tmp_path, {"main": [*main, Piece(1, "inference")], **workers})))
    assert seconds(analysis) == {
        ("simulation", "python", "worker-1 to 2"): 4,
        ("slowest", "", "worker-2"): 3,
        ("messages", "", "worker-1 to 2"): 1,
        ("inference", "python", ""): 1,
    }
    assert ["worker-2" in change and "7 s" in change and "1 s" in change for change in changes(analysis)] == [True]


def test_a_function_that_waits_for_nobody_is_named(tmp_path: Path) -> None:
    main = [Piece(3, "inference", Category.WAIT, "time.sleep"), Piece(1, "inference", Category.WAIT, "os.fsync file")]
    analysis = analyze(open_trace(traced(tmp_path, {"main": main})))
    assert seconds(analysis) == {("waiting", "", "time.sleep"): 3, ("disk", "", "os.fsync"): 1}


def test_a_change_is_of_what_has_a_tenth_of_the_loop(tmp_path: Path) -> None:
    script = "process stop=1000\nthread 0\n500 + inference\n900 -\n900 + log\n980 -\n980 + checkpoint\n1000 -\n"
    analysis = analyzed(tmp_path, script)
    # Of 500 ns in the loop 80 are logging and 20 checkpoints.
    assert codes(analysis) == ["RLS304"]


#: A loop of 100 ns that a native function, a line or a wait has; FRAMES stand for those below the main function.
LOOP = """process stop=110
thread 0
0 + inference
1 -
{work}
100 + backpropagation
110 -
stacks 9
50 sees 0 <module>:/me/a.py:1 main:/me/a.py:3 {frames}
95 sees 0 <module>:/me/a.py:1 main:/me/a.py:3 {frames}
105 sees 0 <module>:/me/a.py:1 main:/me/a.py:4
"""
APPEND, SAMPLE = "append:/lib/python3.11/numpy/lib/_impl.py:1", "Buffer.sample:/me/b.py:7"
NORMAL = "log_prob:/lib/python3.11/torch/normal.py:1"


@pytest.mark.parametrize(
    ("work", "frames", "facts"),
    [
        ("", SAMPLE, ("Buffer.sample", "b.py:7")),
        ("", APPEND, ("numpy.lib.append", "a.py:3")),
        ("", "", ("this line", "a.py:3")),  # of the loop itself
        ("1 + simulation\n100 -", SAMPLE, ("Buffer.sample", "b.py:7")),
        ("1 + simulation\n100 -", APPEND, ()),  # which is called for the simulation, and may be all of it
        ("1 + simulation\n100 -", f"{SAMPLE} {APPEND}", ("numpy.lib.append", "b.py:7")),
        ("1 + simulation\n100 -", "Own.step:/me/b.py:7 Env.step:/lib/python3.11/gym/a.py:1", ()),  # a wrapper
        ("", "load:/me/b.py:7 <module>:/lib/python3.11/x/y.py:1", ()),  # an import
        ("", "_call:/lib/python3.11/multiprocessing/managers.py:1", ("multiprocessing.managers._call", "a.py:3")),
        ("1 + inference\n100 -", SAMPLE, ()),
        ("2 + backend:torch.tensor\n98 -", "", ("torch.tensor", "a.py:3")),
        ("2 + backend:torch.pow\n98 -", NORMAL, ()),
        ("1 + wait:time.sleep\n100 -", SAMPLE, ("RLS211", "b.py:7")),
        ("1 + wait:_socket.socket.recv\n100 -", SAMPLE, ("RLS408", "b.py:7")),
        ("1 + wait:_io.FileIO.write\n100 -", SAMPLE, ("RLS410", "b.py:7")),
        ("1 + wait:select.poll.poll\n100 -", SAMPLE, ("RLS410", "b.py:7")),
        ("1 + wait:posix.waitpid\n100 -", SAMPLE, ("RLS409", "b.py:7")),
        ("1 + wait:_thread.LockType.acquire\n100 -", SAMPLE, ()),
        ("1 + wait:_thread.LockType.__enter__\n100 -", SAMPLE, ("RLS407", "b.py:7")),
        # Of two layers of one function the change is one, of the function.
        ("40 + backend:torch.add\n60 -", SAMPLE, ("Buffer.sample", "b.py:7", "90 %")),
    ],
)
def test_a_change_is_of_the_line_that_nothing_else_depends_on(
    work: str, frames: str, facts: tuple[str, ...], tmp_path: Path
) -> None:
    analysis = analyzed(tmp_path, LOOP.format(work=work, frames=frames))
    assert [all(fact in change for fact in facts) for change in changes(analysis)] == [True] * bool(facts)


def test_a_function_and_what_it_calls_are_one_change(tmp_path: Path) -> None:
    """Of 400 ns 140 are in PyTorch by a function, and 180 in copies that it makes, which nothing else does."""
    update, copy = "0 <module>:/me/a.py:1 main:/me/a.py:3 soft_update:/me/a.py", "deepcopy:/lib/python3.11/copy.py:1"
    seen = f"50 sees {update}:9 {copy}\n150 sees {update}:9 {copy}\n250 sees {update}:8\n"
    seen += "370 sees 0 <module>:/me/a.py:1 main:/me/a.py:4\n"
    rest = "0 + inference\n10 -\n190 + backend:torch.clone\n330 -\n330 + backpropagation\n400 -\n"
    analysis = analyzed(tmp_path, f"process stop=400\nthread 0\n{rest}stacks 9\n{seen}")
    assert {row.apart for row in analysis.account if row.cause == "no_stage"} == {"soft_update", "copy.deepcopy"}
    (change,) = changes(analysis)
    assert all(fact in change for fact in ("soft_update", "a.py:9", "80 %"))


def test_a_large_row_in_no_stage_is_divided_by_the_lines_that_lead_to_it(tmp_path: Path) -> None:
    """Of 330 ns 200 are for copies, 100 are for samples, by two lines of a function that is for nothing else."""
    dump, copy = "dump:/lib/python3.11/json/__init__.py:1", "deepcopy:/lib/python3.11/copy.py:1"
    places = [("main:/me/a.py:3", copy)] * 20 + [("main:/me/a.py:4", "sample:/me/b.py:7")] * 5
    places += [("main:/me/a.py:4", "sample:/me/b.py:8")] * 5 + [("main:/me/a.py:5", dump)] * 3
    seen = "".join(
        f"{10 + 10 * place} sees 0 <module>:/me/a.py:1 {' '.join(frames)}\n" for place, frames in enumerate(places, 1)
    )
    rest = "0 + inference\n10 -\n340 + backpropagation\n400 -\n"
    analysis = analyzed(tmp_path, f"process stop=400\nthread 0\n{rest}stacks 9\n{seen}")
    rows = [row for row in analysis.account if row.cause == "no_stage"]
    assert [(row.called, row.file, row.function, round(row.seconds * 1e9), row.apart) for row in rows] == [
        ("copy.deepcopy", "/me/a.py", "main", 200, "copy.deepcopy"), ("", "/me/b.py", "sample", 100, "sample"),
        ("json.dump", "/me/a.py", "main", 30, "json.dump"),
    ]  # fmt: skip
    assert [round(row.line_share, 2) for row in rows] == [1, 0.5, 1]
    assert [round(row.apart_share, 2) for row in rows] == [1, 1, 1]
    assert len({row.evidence for row in rows}) == 1
    lines = [line for line in account_lines(analysis) if line.name == "in no stage, Python"]
    assert [round(line.seconds * 1e9) for line in lines] == [200, 100, 30]
    assert [line.where for line in lines] == [
        "copy.deepcopy in main, me/a.py:3", "sample, me/b.py:8", "json.dump in main, me/a.py:5",
    ]  # fmt: skip


#: Learning and acting of a program that no rule knows, seen three times; the second by a helper of NumPy.
UNNAMED = """process stop=130
thread 0
{loop}
stacks 9
40 sees 0 <module>:/me/a.py:1 Agent.learn:/me/a.py:7
80 sees 0 <module>:/me/a.py:1 Agent.learn:/me/a.py:7 _amax:/lib/python3.11/numpy/_core/_methods.py:1
120 sees 0 <module>:/me/a.py:1 make.<locals>.act:/me/a.py:9
"""


@pytest.mark.parametrize(
    ("loop", "share"), [("0 + simulation\n1 -\n129 + simulation\n130 -", "65 %"), ("", "67 %")], ids=["loop", "none"]
)
def test_what_no_rule_knows_is_shown_with_the_programs_own_function(loop: str, share: str, tmp_path: Path) -> None:
    analysis = analyzed(tmp_path, UNNAMED.format(loop=loop))
    (line,) = (line for line in account_lines(analysis) if line.name.startswith("in no "))
    assert line.where == "Agent.learn, me/a.py:7"
    assert ["rlscope record --operation" in note for note in notes(analysis)] == [True]
    (naming,) = (said for said in screen_lines(analysis, Screen(80)) if "docs/naming-stages.md" in said)
    assert percent(unnamed_share(analysis)) in naming
    # Of few stacks one line is told, and of what passes there no more than they show.
    assert [("Agent.learn" in change, share in change) for change in changes(analysis)] == [(True, True)]


def test_a_comprehension_is_a_part_of_its_function(tmp_path: Path) -> None:
    analysis = analyzed(tmp_path, LOOP.format(work="", frames=f"{SAMPLE} Buffer.sample.<locals>.<listcomp>:/me/b.py:7"))
    row = max(analysis.account, key=lambda row: row.seconds)
    assert (row.function, row.line, row.called) == ("Buffer.sample", 7, "")


def test_a_function_with_nearly_all_time_is_not_the_loop_that_calls_it(tmp_path: Path) -> None:
    loop = "process stop=1000\nthread 0\n0 + inference\n1 -\n970 + simulation\n999 -\n999 + inference\n1000 -\n"
    seen = "960 sees 0 run:/me/a.py:3 learn:/me/a.py:9\n980 sees 0 run:/me/a.py:4\n"
    analysis = analyzed(tmp_path, f"{loop}stacks 9\n{seen}")
    assert ["learn" in change and "a.py:9" in change for change in changes(analysis)] == [True]


def test_the_line_of_what_a_worker_does_in_its_loop_is_not_where_it_starts_up(tmp_path: Path) -> None:
    main = "process start=0 stop=200\nthread 0\n0 + simulation\n5 + wait:posix.read pipe:[7]\n195 -\n200 -\n"
    work = "100 + simulation\n110 -\n180 + simulation\n190 -\n190 + wait:posix.write pipe:[7]\n190 -\n"
    seen = "stacks 9\n50 sees 0 make:/me/a.py:5\n90 sees 0 make:/me/a.py:5\n150 sees 0 step:/me/a.py:8\n"
    analysis = analyzed(tmp_path, main, f"process start=0 stop=195\nthread 0\n{work}{seen}")
    (row,) = (row for row in analysis.account if row.cause == "no_stage" and row.on)
    assert (row.function, row.line) == ("step", 8)


@pytest.mark.parametrize(
    "begun",
    [
        "main:/me/a.py:1 BaseProcess._bootstrap:/lib/python3.11/multiprocessing/process.py:1 "
        "BaseProcess.run:/lib/python3.11/multiprocessing/process.py:2",
        "Thread.run:/lib/python3.11/threading.py:1",
    ],
)
def test_of_the_loop_of_a_process_or_thread_a_line_is_to_change(begun: str, tmp_path: Path) -> None:
    loop = "process stop=100\nthread 0\n0 + inference\n1 -\n99 + inference\n100 -\n"
    analysis = analyzed(tmp_path, f"{loop}stacks 9\n50 sees 0 {begun} act:/me/a.py:3\n")
    row = max(analysis.account, key=lambda row: row.seconds)
    assert (row.cause, row.function, row.apart) == ("no_stage", "act", "")
    assert ["this line" in each.change for each in analysis.findings] == [True]


def test_a_wait_of_a_worker_for_nobody_is_what_to_change(tmp_path: Path) -> None:
    script = "process start=0 stop=100\nthread 0\n{}stacks 9\n50 sees 0 {}:/me/a.py:{}\n"
    main = script.format("0 + simulation\n5 + wait:posix.read pipe:[7]\n95 -\n100 -\n", "main", 3)
    sleeps = "0 + simulation\n5 + wait:time.sleep\n90 -\n90 + wait:posix.write pipe:[7]\n90 -\n95 -\n"
    analysis = analyzed(tmp_path, main, script.format(sleeps, "step", 8))
    row = max(analysis.account, key=lambda row: row.seconds)
    assert (row.cause, row.on, row.called, row.file, row.line) == ("waiting", "process", "time.sleep", "/me/a.py", 8)
    assert ["do not sleep" in change and "a.py:8" in change for change in changes(analysis)] == [True]


@pytest.mark.parametrize("usable", [1, 4])
def test_fewer_processes_are_a_change_where_the_run_itself_wants_more_cores_than_there_are(
    usable: int, tmp_path: Path
) -> None:
    work = [Piece(4, "simulation", Category.NO_CORE), Piece(4, "simulation")]
    trace = traced(tmp_path, {"main": work, "worker-1": work, "worker-2": work})
    write_manifest(trace, read_manifest(trace) | {"machine": {"cores": usable}})
    analysis = analyze(open_trace(trace))
    assert analysis.cores.wanted == pytest.approx(3)
    assert len(analysis.findings) == (1 if usable == 1 else 0)


@pytest.mark.parametrize(
    ("busy", "ready", "wanted", "is_last"),
    [
        (0.4, 9, 1.8, True),  # the run had a fifth of the cores
        (0.4, 3, 1.8, False),  # most of who was ready were its own threads
        (1.8, 9, 2.85, False),  # it had all of them
        (None, None, 3, False),
    ],
)
def test_cores_that_other_programs_had_are_nothing_to_change(
    busy: float | None, ready: float | None, wanted: float, is_last: bool, tmp_path: Path
) -> None:
    work = [Piece(5, "simulation", Category.NO_CORE), Piece(3, "simulation"), Piece(2, "inference")]
    trace = traced(tmp_path, {"main": work, "worker-1": work, "worker-2": work})
    end = {"busy_cores": busy, "ready_threads": ready}
    write_manifest(trace, read_manifest(trace) | {"machine": {"cores": 2}, "end": end})
    analysis = analyze(open_trace(trace))
    assert analysis.cores.wanted == pytest.approx(wanted)
    lines = account_lines(analysis)
    assert [line.name for line in lines].index("waiting for a core") == (2 if is_last else 0)
    assert folded(lines, 1)[0].name == "waiting for a core"  # which is the longest
    assert codes(analysis) == ["RLS102"] * is_last + ["RLS101"] * (wanted > 2)


@pytest.mark.parametrize(
    ("names", "name"),
    [
        (("worker-3",), "worker-3"),
        (("worker-1", "worker-2", "worker-10"), "worker-1 and 2 more"),
        (("worker-2", "worker-3", "worker-4"), "worker-2 to 4"),
        (("actor (1)", "actor (2)"), "actor (1) and 1 more"),
    ],
)
def test_processes_that_do_the_same_have_one_name(names: tuple[str, ...], name: str) -> None:
    assert group_name(names) == name


def test_each_stage_and_each_purpose_of_an_operation_is_a_cause() -> None:
    causes = {cause.value for cause in Cause}
    assert causes.issuperset(STAGES)
    assert causes.issuperset(each.value for each in Purpose if each not in (Purpose.TRAINING, Purpose.UNPLACED))


@pytest.mark.parametrize(
    ("functions", "name"),
    [
        ((), ""),
        (("copy.py deepcopy", "copy.py _deepcopy_dict"), "copy.deepcopy"),
        (("numpy/_core/fromnumeric.py repeat",), "numpy.repeat"),
        (("numpy/lib/_impl.py append", "numpy/_core/_multiarray.py concatenate"), "numpy.lib.append"),
        (("json/__init__.py dump", "json/encoder.py _make_iterencode.<locals>._iterencode"), "json.dump"),
        (("gymnasium/core.py Wrapper.step", "gymnasium/envs/a.py Env.step", "numpy/b.py clip"), "Env.step"),
        (("torch/optim/adam.py _helper",), "torch.optim.adam._helper"),
        (("m/managers.py Proxy._call", "m/connection.py _Connection.recv"), "Proxy._call"),
        (("a.py f.<locals>.<listcomp>",), ""),
        (("torch/__init__.py <module>", "torch/nn/__init__.py <module>", "re.py compile"), "import torch"),
        (("six.py <module>",), "import six"),
    ],
)
def test_what_was_called(functions: tuple[str, ...], name: str, tmp_path: Path) -> None:
    frames = " ".join(f"{function}:/lib/python3.11/{file}:1" for file, function in map(str.split, functions))
    script = f"process stop=100\nthread 0\n0 + simulation\n90 -\nstacks 9\n10 sees 0 main:/me/a.py:3 {frames}\n"
    (row,) = (row for row in analyzed(tmp_path, script).account if row.cause == "simulation")
    assert (row.called, row.file, row.line) == (name, "/me/a.py", 3)


def test_what_was_called_is_for_nothing_else_than_its_cause(tmp_path: Path) -> None:
    """`learn` does all, `train` the update; a helper of `train` has most of it."""
    frames = "main:/me/a.py:3 PPO.learn:/lib/python3.11/sb3/ppo.py:1"
    script = (
        "process stop=100\nthread 0\n0 + simulation\n40 -\n40 + backpropagation\n90 -\nstacks 9\n"
        f"10 sees 0 {frames} Env.step:/me/a.py:9\n"
        f"50 sees 0 {frames} PPO.train:/lib/python3.11/sb3/ppo.py:2 stack:/lib/python3.11/sb3/x.py:3\n"
    )
    (row,) = (row for row in analyzed(tmp_path, script).account if row.cause == "backpropagation")
    assert (row.called, row.line) == ("PPO.train", 3)


def test_a_wait_is_named_once_and_then_what_was_called_for_it(tmp_path: Path) -> None:
    script = (
        "process stop=100\nthread 0\n0 + simulation\n10 + wait:time.sleep\n80 -\n90 -\nstacks 9\n"
        "50 sees 0 main:/me/a.py:3 urlopen:/lib/python3.11/urllib/request.py:1 read:/lib/python3.11/socket.py:4\n"
    )
    (row,) = (row for row in analyzed(tmp_path, script).account if row.cause == "waiting")
    assert (row.on, row.called) == ("time.sleep", "urllib.request.urlopen")


def test_a_native_function_is_called_as_people_write_it() -> None:
    assert [public_name(name) for name in ("torch._C._nn.linear", "time.sleep", "_io.FileIO.write", "__call__")] == [
        "torch.linear", "time.sleep", "FileIO.write", "__call__",
    ]  # fmt: skip


def test_what_recording_added_is_a_cause_and_in_no_other_one(tmp_path: Path) -> None:
    script = "process start=0 stop=1000\nthread 0\n100 + simulation\n" + "".join(
        f"{now} + simulator:step\n{now + 5} -\n" for now in range(110, 490, 10)
    ) + "500 -\n600 + inference\n900 -\n"  # fmt: skip
    trace = open_trace(write_scripts([parse_script(script)], tmp_path))
    plain, corrected = (
        analyze(trace),
        analyze(trace, correction=Correction({"boundary": certain_cost(1, 1)}, "test", {})),
    )
    assert corrected.processes[0].corrected_wall_s is not None
    added = corrected.processes[0].wall_s - corrected.processes[0].corrected_wall_s
    found = seconds(corrected)
    assert added > 50e-9
    assert found.pop(("recording", "", "")) == pytest.approx(added, abs=2e-9)
    before = seconds(plain)
    assert found.keys() == before.keys()
    assert sum(found.values()) == pytest.approx(1e-6 - added, abs=2e-9)
    assert all(found[key] <= before[key] for key in found)
    assert found["inference", "python", ""] == before["inference", "python", ""]


@pytest.mark.parametrize(("added_s", "left"), [(0.6e-9, 1), (-0.6e-9, 1), (0.5, 0.5)])
def test_what_rounding_left_was_not_added_by_recording(added_s: float, left: float) -> None:
    purpose = PurposeRow("main", "", "loop", "training", "", "python", "cpu", 1.0)
    row = BreakdownRow("main", "", "", "a", "python", "cpu", "", "", 1.0, 1.0 - added_s)
    assert [*_left_by_recording([purpose], [row]).values()] == [left]


def test_collecting_garbage_in_the_loop_is_not_where_it_was_collected_before(tmp_path: Path) -> None:
    script = "process stop=200\nthread 0\n0 + garbage_collection\n90 -\n100 + inference\n110 -\n"
    script += "110 + garbage_collection\n190 -\n190 + backpropagation\n200 -\n"
    seen = "50 sees 0 <module>:/me/a.py:3\n60 sees 0 <module>:/me/a.py:3\n150 sees 0 <module>:/me/a.py:8\n"
    analysis = analyzed(tmp_path, f"{script}stacks 9\n{seen}")
    assert [row.line for row in analysis.account if row.cause == "garbage_collection"] == [8]


def test_collecting_garbage_in_an_import_is_nothing_to_change(tmp_path: Path) -> None:
    torch = "<module>:/lib/python3.11/site-packages/torch/__init__.py:9"
    script = "process stop=200\nthread 0\n100 + garbage_collection\n150 -\nstacks 9\n"
    seen = f"50 sees 0 <module>:/me/a.py:3 {torch}\n120 sees 0 <module>:/me/a.py:3 {torch}\n"
    analysis = analyzed(tmp_path, script + seen)
    assert ("garbage_collection", "import torch") in {(row.cause, row.called) for row in analysis.account}
    assert not analysis.findings


def test_what_messages_take_beside_waits_is_packing_and_unpacking_them(tmp_path: Path) -> None:
    get = "Queue.get:/lib/python3.11/multiprocessing/queues.py:122"
    analysis = analyzed(tmp_path, LOOP.format(work="", frames=get))
    row = max(analysis.account, key=lambda row: row.seconds)
    assert (row.cause, row.called, row.file, row.line) == ("pickling", "Queue.get", "/me/a.py", 3)
    assert codes(analysis) == ["RLS403"]
    assert account_lines(analysis)[0].name == Cause.PICKLING.words


def test_what_a_stage_packs_for_messages_is_not_what_it_is_for(tmp_path: Path) -> None:
    """Of 80 ns of simulation a quarter is packed; what packs is named, and not the step around it."""
    step = "0 <module>:/me/a.py:3 step:/lib/python3.11/gym/vector.py:9"
    send = "Connection.send:/lib/python3.11/multiprocessing/connection.py:7"
    seen = f"20 sees {step} {send}\n40 sees {step}\n60 sees {step}\n80 sees {step}\n"
    analysis = analyzed(tmp_path, f"process stop=80\nthread 0\n0 + simulation\n80 -\nstacks 9\n{seen}")
    assert [(row.cause, row.called, row.line, round(row.seconds * 1e9)) for row in analysis.account] == [
        ("simulation", "gym.vector.step", 3, 60), ("pickling", "Connection.send", 3, 20),
    ]  # fmt: skip


@pytest.mark.parametrize("work", ["", "1 + simulation\n100 -", "2 + simulator:mujoco.MjModel.from_xml_path\n98 -"])
def test_environments_that_are_made_in_the_loop_are_a_cause(work: str, tmp_path: Path) -> None:
    make = "make:/lib/python3.11/gymnasium/envs/registration.py:9 Ant.__init__:/lib/python3.11/gymnasium/ant.py:5"
    analysis = analyzed(tmp_path, LOOP.format(work=work, frames=make))
    row = max(analysis.account, key=lambda row: row.seconds)
    assert (row.cause, row.called, row.file, row.line, row.seconds > 95e-9) == (
        "making", "gymnasium.envs.registration.make", "/me/a.py", 3, True
    )  # fmt: skip
    assert codes(analysis) == ["RLS307"]


def test_what_a_worker_does_is_not_the_making_in_which_it_was_started(tmp_path: Path) -> None:
    make = "make_vec:/lib/python3.11/gymnasium/envs/registration.py:9"
    begun = f"{make} BaseProcess._bootstrap:/lib/python3.11/multiprocessing/process.py:1 step:/me/b.py:2"
    analysis = analyzed(tmp_path, LOOP.format(work="1 + simulation\n100 -", frames=begun))
    assert {row.cause for row in analysis.account} == {"simulation", "inference", "backpropagation"}


@pytest.mark.parametrize(
    ("place", "is_said"), [(["/me/a.py", 5], True), ([], False), (["/me/a.py", "5"], False), (None, False)]
)
def test_anomalies_that_autograd_looks_for_are_a_change(place: object, is_said: bool, tmp_path: Path) -> None:
    analysis = with_property(tmp_path, ANOMALIES, place, "simulation", "backpropagation")
    assert ["a.py:5" in change for change in changes(analysis)] == [True] * is_said


@pytest.mark.parametrize(
    ("noted", "is_said"),
    [
        ({"ns": 100, "again_ns": 0}, False),
        ({"ns": 100, "again_ns": 5}, False),
        ({"ns": 100, "again_ns": 50}, True),
        ({"ns": 0, "again_ns": 1}, True),  # which cannot be
        (None, True),
    ],
)
def test_compiling_once_is_a_change_where_functions_were_compiled_again(
    noted: object, is_said: bool, tmp_path: Path
) -> None:
    analysis = with_property(tmp_path, COMPILING, noted, "simulation", "compile")
    assert codes(analysis) == ["RLS701"] * is_said


@pytest.mark.parametrize(
    ("updates", "call", "is_said"), [(10, 10, True), (10, 30, False), (2, 10, False), (3, 10, True)]
)
def test_many_updates_of_short_calls_are_a_change(updates: int, call: int, is_said: bool, tmp_path: Path) -> None:
    """Ten timesteps, with so many updates of 900 us each, in which PyTorch is called twice for so many."""
    script, end = "process stop=10000000\nthread 0\n0 baseline 0\n", 0
    for begin in range(0, updates * 1_000_000, 1_000_000):
        script += f"{begin} + backpropagation\n"
        for name, start in (("linear", 10_000), ("_C._EngineBase.run_backward", 50_000)):
            end = begin + start + call * 1000
            script += f"{begin + start} + backend:torch.{name}\n{end} -\n"
        end = begin + 900_000
        script += f"{end} -\n"
    analysis = analyzed(tmp_path, f"{script}{end} progress 10\n")
    assert ["update less often" in change for change in changes(analysis)] == [True] * is_said


@pytest.mark.parametrize(
    ("answers", "call", "updates", "is_said"),
    [(10, 10, 1, True), (9, 10, 1, False), (10, 30, 1, False), (10, 10, 2, False), (20, 10, 0, True)],
)
def test_a_policy_that_answers_for_one_timestep_at_a_time_is_a_change(
    answers: int, call: int, updates: int, is_said: bool, tmp_path: Path
) -> None:
    """Ten timesteps, with so many answers of 100 us each, in which PyTorch is called for so many."""
    script, end = "process stop=10000000\nthread 0\n0 baseline 0\n0 ran 0\n", 0
    names = [("inference", "linear")] * answers + [("backpropagation", "_C._EngineBase.run_backward")] * updates
    for begin, (operation, name) in enumerate(names):
        end = (begin + 1) * 100_000
        script += f"{end - 100_000} + {operation}\n{end - 90_000} + backend:torch.{name}\n"
        script += f"{end - 90_000 + call * 1000} -\n{end} -\n{end} ran 100000\n"
    analysis = analyzed(tmp_path, f"{script}{end} progress 10\nstacks 9\n50000 sees 0 <module>:/me/a.py:3\n")
    said = [change for change in changes(analysis) if "several environments" in change]
    facts = f"{answers} answers for 10 timesteps", "a.py:3"
    assert [[fact in change for fact in facts] for change in said] == [[True, True]] * is_said


#: 40 ns of a library's function in simulation, 30 of two libraries' in inference.
NATIVE = """process stop=100
thread 0
0 + simulation
10 + native:libphysics.step
30 -
30 + native:libphysics.look
50 -
50 -
50 + inference
50 + native:libone.run
70 -
70 + native:{two}.run
80 -
80 -
stacks 9
20 sees 0 <module>:/me/a.py:1
40 sees 0 <module>:/me/a.py:1
60 sees 0 <module>:/me/a.py:2
75 sees 0 <module>:/me/a.py:3
"""


@pytest.mark.parametrize(("two", "module"), [("libtwo", ""), ("libone", "libone")])
def test_native_code_is_of_the_module_that_has_nearly_all_of_it(two: str, module: str, tmp_path: Path) -> None:
    analysis = analyzed(tmp_path, NATIVE.format(two=two))
    modules = {row.stage: row.module for row in analysis.account if row.category == "native"}
    assert modules == {"simulation": "libphysics", "inference": module}
    assert {row.module for row in analysis.account if row.category != "native"} <= {""}
    assert "Native code of libphysics" in "\n".join(screen_lines(analysis, Screen(80)))
