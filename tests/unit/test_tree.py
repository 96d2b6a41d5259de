"""The breakdown as a tree: which levels it has, and what of it is folded."""

from pathlib import Path

import pytest
from trace_builder import parse_script, write_script

from rlscope.analysis.analysis import Analysis
from rlscope.analysis.analyze import analyze
from rlscope.analysis.outline.tree import Line, breakdown_tree, tree_lines
from rlscope.trace.reader import open_trace

GOLDEN = Path(__file__).parent.parent / "golden"


def analysis_of(name: str, directory: Path) -> Analysis:
    write_script(parse_script((GOLDEN / f"{name}.trace.txt").read_text()), directory)
    return analyze(open_trace(directory))


def names(lines: list[Line]) -> list[str]:
    return [f"{'  ' * line.depth}{line.branch.name}" for line in lines]


@pytest.mark.parametrize("name", sorted(file.name[: -len(".trace.txt")] for file in GOLDEN.glob("*.trace.txt")))
def test_a_branch_is_its_parts_and_all_is_the_breakdown(name: str, tmp_path: Path) -> None:
    analysis = analysis_of(name, tmp_path)
    tree = breakdown_tree(analysis)
    assert sum(branch.seconds for branch in tree) == pytest.approx(sum(row.seconds for row in analysis.breakdown))
    left = list(tree)
    while left:
        branch = left.pop()
        left += branch.branches
        if branch.branches:
            assert sum(part.seconds for part in branch.branches) == pytest.approx(branch.seconds)
            assert [part.seconds for part in branch.branches] == sorted(
                (part.seconds for part in branch.branches), reverse=True
            )
