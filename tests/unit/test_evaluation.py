"""Evaluation is in the breakdown, and left out of what is said of training: figures, the path, rates, extrapolation."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from pieces import bounds, path_of

from benchmarks.trace_writer import ThreadWriter, TraceWriter
from rlscope.analysis.account.counted_waits import CountedWaits
from rlscope.analysis.account.kinds import times_of_processes
from rlscope.analysis.analysis import Analysis, analyze
from rlscope.analysis.document import document_of
from rlscope.analysis.rows import sums
from rlscope.cli.analyze import analyze as analyze_verb
from rlscope.cli.plot import plot
from rlscope.model import Category, LifePart
from rlscope.report.report_page import write_report
from rlscope.report.workloads import complete_view, published_view, transitions_view, workloads
from rlscope.trace.reader import open_trace

S = 1_000_000_000
SAID = "8 s, left out of figures, transitions and the time for all timesteps"


class Seconds:
    """Writes one thread, second by second."""

    def __init__(self, thread: ThreadWriter) -> None:
        self.thread = thread
        self.now = 0

    def operation(self, name: str, seconds: int, category: Category = Category.BACKEND, calls: int = 1) -> None:
        """Half of it in calls that follow one another, of which the last ends with it."""
        self.thread.begin_operation(self.now * S, name)
        middle, end = self.now * S + seconds * S // 2, (self.now + seconds) * S
        for call in range(calls):
            self.thread.begin_boundary(middle + call * (end - middle) // calls, category, "call")
            self.thread.end(middle + (call + 1) * (end - middle) // calls)
        self.thread.end(end)
        self.now += seconds


def evaluate(main: Seconds) -> None:
    """For 4 s: 1 s in no operation of its own, 2 s of inference, 1 s of waiting for nobody."""
    main.thread.begin_phase(main.now * S, "evaluation")
    main.now += 1
    main.operation("inference", 2, calls=3)
    main.thread.begin_boundary(main.now * S, Category.WAIT, "time.sleep")
    main.now += 1
    main.thread.end(main.now * S)
    main.thread.end(main.now * S)


def write_training(main: Seconds) -> None:
    """10 s of training in two iterations of 100 timesteps, after 5 s; after each, 4 s of evaluation in its middle."""
    main.now = 5
    main.thread.begin_operation(main.now * S, "training_loop")
    main.thread.progress(main.now * S, 0, 1000, is_baseline=True)
    for timesteps in (100, 200):
        main.operation("simulation", 2, Category.SIMULATOR)
        evaluate(main)
        main.operation("backpropagation", 3)
        main.thread.progress(main.now * S, timesteps, 1000)
    main.thread.end(main.now * S)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    writer = TraceWriter(tmp_path / "trace")
    process = writer.process(pid=1, name="main")
    main = Seconds(process.thread())
    write_training(main)
    process.stop(main.now * S)
    return writer.write_complete()


@pytest.fixture
def analysis(trace: Path) -> Analysis:
    return analyze(open_trace(trace))


def test_the_breakdown_has_all_of_the_time(analysis: Analysis) -> None:
    breakdown = analysis.breakdown.table
    assert breakdown["seconds"].sum() == pytest.approx(23)
    assert breakdown.groupby("phase")["seconds"].sum().to_dict() == {
        "(none)": pytest.approx(15), "evaluation": pytest.approx(8),
    }  # fmt: skip
    assert analysis.evaluation_s == {"main": pytest.approx(8)}
    assert document_of(analysis)["evaluation_s"] == analysis.evaluation_s


def test_the_whole_training_is_as_long_as_it_would_be_without(analysis: Analysis) -> None:
    """10 s for 200 of 1000 timesteps, not 18 s."""
    assert analysis.extrapolated_s == pytest.approx(50)


def test_transitions_per_iteration_are_those_of_training(analysis: Analysis) -> None:
    rows = analysis.transitions.table.set_index(["operation", "to"])[["count", "per_iteration", "per_timestep"]]
    assert rows.to_dict("index") == {
        ("simulation", "simulator"): {"count": 2, "per_iteration": 1, "per_timestep": 0.01},
        ("backpropagation", "backend"): {"count": 2, "per_iteration": 1, "per_timestep": 0.01},
    }


def test_the_path_is_of_training_and_the_account_has_evaluation_beside_it(analysis: Analysis) -> None:
    path = analysis.path
    assert path is not None and bounds(path) == {"python": 5, "backend": 3, "simulator": 2}
    assert path.unfollowed == ()
    seconds = sums((row.cause, row.seconds) for row in analysis.account)
    assert (seconds["starting_up"], seconds["evaluation"]) == (pytest.approx(5), pytest.approx(8))


def test_figures_draw_training_alone(analysis: Analysis) -> None:
    shown = workloads({"a": analysis})
    view = published_view(shown)
    assert view.table.groupby("stage")["seconds"].sum().to_dict() == {
        "backpropagation": pytest.approx(30), "simulation": pytest.approx(20),
    }  # fmt: skip
    assert (view.left_out_s, view.evaluation_s) == (pytest.approx(5), pytest.approx(8))
    assert complete_view(shown).table["seconds"].sum() == pytest.approx(23)
    table, value = transitions_view(shown)
    assert (value, table["count"].tolist()) == ("per_iteration", [2, 2])


def test_each_output_says_how_long_it_was(trace: Path, analysis: Analysis, tmp_path: Path) -> None:
    found = CliRunner().invoke(analyze_verb, [str(trace), "--all"])
    assert f"- evaluation: {SAID}" in " ".join(found.output.split())
    (tmp_path / "report").mkdir()
    write_report({"a": analysis}, tmp_path / "report")
    page = (tmp_path / "report" / "figures.html").read_text()
    assert f"Evaluation: {SAID}." in page
    assert "Left out: 5 s before and after training, and 8 s of evaluation." in page
    drawn = CliRunner().invoke(plot, ["breakdown", str(trace), "-o", str(tmp_path / "figure.svg")])
    assert "left out: 5 s in no operation of training, and 8 s of evaluation (see --view complete)" in drawn.output
    document = json.loads(CliRunner().invoke(analyze_verb, [str(trace), "--json"]).output)
    assert document["evaluation_s"] == {"main": pytest.approx(8)}


def test_who_only_evaluates_is_shown_whole(tmp_path: Path) -> None:
    """A trained model that is tested, twice: there is no training from which to tell it."""
    writer = TraceWriter(tmp_path / "trace")
    process = writer.process(pid=1, name="main")
    main = Seconds(process.thread())
    for _ in range(2):
        main.now += 3
        evaluate(main)
    process.stop((main.now + 2) * S)
    analysis = analyze(open_trace(writer.write_complete()))
    assert analysis.evaluation_s == {}
    rows = analysis.transitions.table.set_index(["operation", "to"])["count"]
    assert rows.to_dict() == {("inference", "backend"): 6, ("(none)", "wait"): 2}
    path = analysis.path
    assert path is not None and path.total_s == pytest.approx(8)
    assert path.time.left_out == {LifePart.UNPLACED: pytest.approx(8)}
    view = published_view(workloads({"a": analysis}))
    assert (view.table["seconds"].sum(), view.evaluation_s) == (pytest.approx(8), 0)


def test_evaluation_after_the_loop_of_a_script_does_not_stretch_it(tmp_path: Path) -> None:
    """Saving between the last update and the evaluation is ending, not training."""
    writer = TraceWriter(tmp_path / "trace")
    process = writer.process(pid=1, name="main")
    main = Seconds(process.thread())
    for _ in range(3):
        main.operation("simulation", 1, Category.SIMULATOR)
        main.operation("backpropagation", 2)
        main.now += 1
    main.now += 5
    evaluate(main)
    process.stop(main.now * S)
    path = path_of(writer.write_complete())
    assert path.total_s == pytest.approx(11)
    assert path.time.left_out == {LifePart.AFTERWARDS: pytest.approx(6), LifePart.EVALUATION: pytest.approx(4)}


def test_processes_are_told_apart_and_those_that_only_evaluate_are_not_left_out(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path / "trace")
    for pid, name in enumerate(("learner", "tester"), start=1):
        process = writer.process(pid=pid, name=name)
        main = Seconds(process.thread())
        if name == "learner":
            write_training(main)
        else:
            evaluate(main)
        process.stop(main.now * S)
    trace = writer.write_complete()
    assert analyze(open_trace(trace)).evaluation_s == {"learner": pytest.approx(8)}
    output = CliRunner().invoke(analyze_verb, [str(trace), "--all"]).output
    assert f"- evaluation in learner: {SAID}" in " ".join(output.split())


def test_waits_for_the_workers_of_an_evaluation_are_not_followed(tmp_path: Path) -> None:
    """The learner learns for 4 s, and evaluates for 6 s in a worker that simulates meanwhile."""
    writer = TraceWriter(tmp_path / "trace")
    learner, worker = writer.process(pid=1), writer.process(pid=2)
    learner.properties({"process_name": "learner"})
    main = Seconds(learner.thread())
    main.operation("backpropagation", 2, Category.WAIT)
    main.thread.begin_phase(main.now * S, "evaluation")
    main.thread.begin_operation(main.now * S, "simulation")
    main.thread.begin_boundary(main.now * S, Category.WAIT, "posix.read pipe:[1]")
    main.now += 6
    for _ in range(3):
        main.thread.end(main.now * S)
    main.operation("backpropagation", 2)
    learner.stop(main.now * S)
    worker.properties({"process_name": "worker"})
    other = Seconds(worker.thread())
    other.now = 2
    other.operation("simulation", 6, Category.SIMULATOR)
    other.thread.boundary(other.now * S, other.now * S + 1, Category.WAIT, "posix.write pipe:[1]")
    worker.stop(main.now * S)
    analysis = analyze(open_trace(writer.write_complete()))
    assert ["learner", "evaluation", "worker"] in analysis.dependencies.table[
        ["process", "phase", "on"]
    ].values.tolist()
    times = times_of_processes(analysis.breakdown, analysis.loops)
    assert CountedWaits(analysis.waits, analysis.dependencies, times).links["learner"] == {}
    assert times["learner"].left_out == {"evaluation": pytest.approx(6)}
    assert sum(times["learner"].mix.values()) == pytest.approx(4)
