"""The breakdown as a tree: which levels it has, and what of it is folded."""

from pathlib import Path

import pytest
from trace_builder import parse_script, write_script

from benchmarks.trace_writer import TraceWriter
from rlscope.analysis.analysis import Analysis, analyze
from rlscope.analysis.outline.tree import breakdown_tree, life_parts, lives, tree_lines
from rlscope.model import Category, LifePart
from rlscope.trace.reader import open_trace

GOLDEN = Path(__file__).parent.parent / "golden"
S = 1_000_000_000


def names(analysis: Analysis, is_whole: bool = False) -> list[str]:
    return [f"{'  ' * line.depth}{line.branch.name}" for line in tree_lines(analysis, is_whole)]


def analyzed(writer: TraceWriter) -> Analysis:
    return analyze(open_trace(writer.write_complete()))


@pytest.mark.parametrize("file", sorted(GOLDEN.glob("*.trace.txt")), ids=lambda file: file.name.partition(".")[0])
def test_a_branch_is_its_parts_and_all_is_the_breakdown(file: Path, tmp_path: Path) -> None:
    write_script(parse_script(file.read_text()), tmp_path)
    analysis = analyze(open_trace(tmp_path))
    left = [*breakdown_tree(analysis)]
    (row,) = analysis.processes
    assert sum(branch.seconds for branch in left) == pytest.approx(row.wall_s)
    assert sum(branch.share for branch in left) == pytest.approx(1)
    parts = life_parts(analysis, row.process)
    assert list(parts) == [part for part in LifePart if part in parts]
    assert sum(part.seconds for part in parts.values()) == pytest.approx(row.wall_s)
    while left:
        branch = left.pop()
        left += branch.branches
        lengths_s = [part.seconds for part in branch.branches]
        assert lengths_s == sorted(lengths_s, reverse=True)
        assert sum(lengths_s) == pytest.approx(branch.seconds if lengths_s else 0)


@pytest.fixture
def small_parts(tmp_path: Path) -> Analysis:
    """100 s: 97 s of the update, 1 s each of two small operations of it, 0.5 s of simulation and 0.5 s in no stage."""
    process = (writer := TraceWriter(tmp_path / "trace")).process(pid=1)
    thread = process.thread()
    thread.begin_operation(0, "backpropagation")
    thread.boundary(0, 90 * S, Category.BACKEND, "torch.mm")
    thread.operation(97 * S, 97 * S + S // 2, "pad")
    thread.operation(97 * S + S // 2, 98 * S, "save")
    thread.end(98 * S)
    thread.operation(98 * S, 98 * S + S // 2, "simulation")
    process.stop(100 * S)
    return analyzed(writer)


def test_what_is_small_is_folded_but_no_stage(small_parts: Analysis) -> None:
    assert names(small_parts) == [
        "backpropagation",
        "  backpropagation",
        "    backend",
        "    python",
        "  2 more below 1 %",
        "afterwards",
        "  python",
        "simulation",
    ]
    fold = tree_lines(small_parts)[4].branch
    assert (fold.seconds, fold.share) == (pytest.approx(1), pytest.approx(0.01))


def test_all_of_it(small_parts: Analysis) -> None:
    assert names(small_parts, is_whole=True) == [
        "backpropagation",
        "  backpropagation",
        "    backend",
        "    python",
        "  pad",
        "    python",
        "  save",
        "    python",
        "afterwards",
        "  python",
        "simulation",
        "  python",
    ]


def test_a_program_without_stages_has_operations_at_the_top(tmp_path: Path) -> None:
    process = (writer := TraceWriter(tmp_path / "trace")).process(pid=1)
    thread = process.thread()
    thread.operation(0, 3 * S, "play")
    process.stop(4 * S)
    assert names(analyzed(writer)) == ["play", "  python", "afterwards", "  python"]


def test_phases_come_before_stages(tmp_path: Path) -> None:
    process = (writer := TraceWriter(tmp_path / "trace")).process(pid=1)
    thread = process.thread()
    thread.begin_phase(0, "collect")
    thread.operation(0, 3 * S, "simulation")
    thread.end(3 * S)
    process.stop(4 * S)
    assert names(analyzed(writer)) == [
        "collect",
        "  simulation",
        "    python",
        "afterwards",
        "  python",
    ]


def test_the_parts_of_a_life_are_beside_the_stages_of_its_loop(tmp_path: Path) -> None:
    """Evaluation is a part of its own, and what lies between the operations of the loop is in none of its stages."""
    process = (writer := TraceWriter(tmp_path / "trace")).process(pid=1)
    thread = process.thread()
    thread.operation(40 * S, 60 * S, "simulation")
    thread.begin_phase(60 * S, "evaluation")
    thread.operation(65 * S, 75 * S, "inference")
    thread.end(75 * S)
    thread.operation(81 * S, 90 * S, "backpropagation")
    process.stop(100 * S)
    analysis = analyzed(writer)
    tree = {branch.name: round(branch.seconds) for branch in breakdown_tree(analysis)}
    assert tree == {
        "starting up": 40, "simulation": 20, "evaluation": 15, "afterwards": 10, "backpropagation": 9, "(no stage)": 6,
    }  # fmt: skip
    assert {part: round(branch.seconds) for part, branch in life_parts(analysis, "main").items()} == {
        LifePart.STARTING_UP: 40, LifePart.LOOP: 35, LifePart.EVALUATION: 15, LifePart.AFTERWARDS: 10,
    }  # fmt: skip


def test_what_is_small_in_a_long_life_but_not_in_its_loop_is_shown(tmp_path: Path) -> None:
    """A loop of 1 s in a life of 1000 s."""
    process = (writer := TraceWriter(tmp_path / "trace")).process(pid=1)
    thread = process.thread()
    thread.operation(999 * S, 999 * S + S // 2, "act")
    thread.operation(999 * S + S // 2, 1000 * S, "learn")
    process.stop(1000 * S)
    assert names(analyzed(writer)) == ["starting up", "  python", "act", "  python", "learn", "  python"]


def test_without_a_loop_nothing_is_said_to_be_one(tmp_path: Path) -> None:
    process = (writer := TraceWriter(tmp_path / "trace")).process(pid=1)
    process.thread().boundary(0, 3 * S, Category.BACKEND, "torch.mm")
    process.stop(4 * S)
    assert names(analyzed(writer)) == ["(no loop)", "  backend", "  python"]


def test_the_process_that_paces_is_shown_and_all_of_them_on_request(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path / "trace")
    for number in range(4):
        process = writer.process(pid=1 + number, start_ticks=number)
        process.properties({"process_name": f"process_{number}"})
        thread = process.thread()
        if number:
            thread.operation(number, number * S, "simulation")
        process.stop(1000 * S)
    analysis = analyzed(writer)
    assert analysis.path is not None and analysis.path.process == "process_3"
    assert names(analysis) == ["afterwards", "  python", "simulation", "  python"]
    tops = [line.branch for line in tree_lines(analysis, is_whole=True) if line.depth == 0]
    assert [branch.name for branch in tops] == ["process_3", "process_2", "process_1", "process_0"]
    assert [branch.seconds for branch in lives(analysis)] == pytest.approx([1000] * 4)
