"""Many runs as one table: a row each, the causes of all together, and how many of them a rule finds something in."""

from pathlib import Path

import pytest
from compared_runs import loop, write_run
from recording import call_here

from rlscope.analysis.account.words import account_lines
from rlscope.analysis.analysis import Analysis, analyze
from rlscope.report.many_runs import joined_lines, many_lines
from rlscope.report.screen import Screen
from rlscope.trace.reader import open_trace

MORE_US = (0, 1000, 4000, 9000)


@pytest.fixture
def trials(tmp_path: Path) -> dict[str, Path]:
    """Runs of five iterations of 10 ms, the later ones longer in an update."""
    return {
        f"trial-{number}": write_run(tmp_path / f"trial-{number}", loop([{"torch.addmm": more}] * 5))
        for number, more in enumerate(MORE_US)
    }


def analyzed(trials: dict[str, Path]) -> dict[str, Analysis]:
    return {name: analyze(open_trace(path)) for name, path in trials.items()}


def test_causes_of_all_runs_are_summed(trials: dict[str, Path]) -> None:
    lines = {line.name: line for line in joined_lines(map(account_lines, analyzed(trials).values()))}
    assert lines["update, PyTorch"].seconds == pytest.approx(5 * (4 * 4000 + sum(MORE_US)) / 1e6)
    assert sum(line.seconds for line in lines.values()) == pytest.approx(5 * (4 * 10_000 + sum(MORE_US)) / 1e6)
    assert sum(line.share for line in lines.values()) == pytest.approx(1)


def test_a_table_has_a_row_for_each_run_and_fits(trials: dict[str, Path]) -> None:
    lines = many_lines(analyzed(trials), "4 runs", ["One is missing."], Screen(80))
    assert max(map(len, lines)) <= 80
    rows = [line.split() for line in lines if line.split()[:1] and line.split()[0] in trials]
    assert [row[0] for row in rows] == list(trials)
    assert [row[1] for row in rows] == ["50", "55", "70", "95"]
    assert "One is missing." in lines


def test_more_than_three_traces_are_a_table_and_three_are_screens(trials: dict[str, Path]) -> None:
    paths = list(trials.values())
    assert call_here("analyze", *paths).stdout.startswith("4 runs\n")
    assert call_here("analyze", *paths[:3]).stdout.count("Where the time went") == 3
    assert call_here("analyze", *paths, "--all").stdout.count("Where the time went") == 4
