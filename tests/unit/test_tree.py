"""The breakdown as a tree: which levels it has, and what of it is folded."""

import math
from pathlib import Path

import pytest
from trace_builder import parse_script, write_script

from benchmarks.trace_writer import TraceWriter
from rlscope.analysis.analysis import Analysis
from rlscope.analysis.analyze import analyze
from rlscope.analysis.outline.tree import MOST_PROCESSES, breakdown_tree, tree_lines
from rlscope.model import Category
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
    assert sum(branch.seconds for branch in left) == pytest.approx(sum(row.seconds for row in analysis.breakdown))
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
    thread.operation(97 * S, 97 * S + S // 2, "log")
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
        "(no stage)",
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
        "  log",
        "    python",
        "  save",
        "    python",
        "(no stage)",
        "  python",
        "simulation",
        "  python",
    ]


def test_a_program_without_stages_has_operations_at_the_top(tmp_path: Path) -> None:
    process = (writer := TraceWriter(tmp_path / "trace")).process(pid=1)
    thread = process.thread()
    thread.operation(0, 3 * S, "play")
    process.stop(4 * S)
    assert names(analyzed(writer)) == ["play", "  python", "(no operation)", "  python"]


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
        "(no phase)",
        "  (no stage)",
        "    python",
    ]


def test_processes_longest_in_operations_are_shown(tmp_path: Path) -> None:
    """Those that wait all their life, as a fork server does, are folded, and so are those beyond the most."""
    writer = TraceWriter(tmp_path / "trace")
    for number in range(MOST_PROCESSES + 3):
        process = writer.process(pid=1 + number, start_ticks=number)
        process.properties({"process_name": f"process_{number}"})
        thread = process.thread()
        if number:
            thread.operation(number, number * S, "simulation")
        process.stop(1000 * S)
    analysis = analyzed(writer)
    tops = [line.branch for line in tree_lines(analysis) if line.depth == 0]
    assert [branch.name for branch in tops] == [
        *(f"process_{number}" for number in range(MOST_PROCESSES + 2, 2, -1)),
        "3 more processes",
    ]
    assert math.isnan(tops[-1].share) and tops[-1].seconds == pytest.approx(3000)
    assert len([line for line in tree_lines(analysis, is_whole=True) if line.depth == 0]) == MOST_PROCESSES + 3
