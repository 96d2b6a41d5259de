"""How the figures of a report are drawn in two processes, and written in several formats at once."""

import os
import signal
from pathlib import Path

import pandas as pd
import psutil
import pytest

from rlscope.errors import RLScopeError
from rlscope.plots.drawing import Drawing, draw_here, second_process
from rlscope.plots.folding import PUBLISHED_TRANSITIONS
from rlscope.plots.style import paper
from rlscope.plots.transitions import transitions_figure

TABLE = pd.DataFrame(
    {"workload": "PPO", "stage": "inference", "category": list(PUBLISHED_TRANSITIONS), "count": [1000, 200, 30]}
)


def drawings(folder: Path, count: int = 4) -> list[Drawing]:
    folder.mkdir(exist_ok=True)
    settings = {"value": "count"}
    return [Drawing("transitions_figure", (TABLE,), folder / str(number), settings) for number in range(count)]


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be two processes on a machine with one processor, too."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})


@pytest.mark.usefixtures("two_processors")
def test_two_processes_draw_what_one_does(tmp_path: Path) -> None:
    draw_here(drawings(tmp_path / "one"))
    with second_process() as draw:
        draw(drawings(tmp_path / "two"))
    assert files(tmp_path / "two") == files(tmp_path / "one")
    assert len(files(tmp_path / "two")) == 16


@pytest.mark.usefixtures("two_processors")
def test_the_second_process_draws_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = os.getpid()
    write = Drawing.write

    def noted(drawing: Drawing) -> None:
        write(drawing)
        (tmp_path / f"by_{'first' if os.getpid() == here else 'second'}").touch()

    monkeypatch.setattr(Drawing, "write", noted)
    with second_process() as draw:
        draw(drawings(tmp_path / "figures", 12))
    assert {path.name for path in tmp_path.glob("by_*")} == {"by_first", "by_second"}


@pytest.mark.parametrize("processors", [{0}, {0, 1}])
def test_what_cannot_be_written_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processors: set[int]
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: processors)
    wanted = drawings(tmp_path, 1)
    with second_process() as draw, pytest.raises(FileNotFoundError):
        draw([Drawing(wanted[0].figure, wanted[0].tables, tmp_path / "none" / "x", wanted[0].settings)] * 3)


@pytest.mark.usefixtures("two_processors")
def test_that_the_second_process_was_killed_is_said(tmp_path: Path) -> None:
    before = set(psutil.Process().children())
    with second_process() as draw:
        (second,) = set(psutil.Process().children()) - before
        second.send_signal(signal.SIGKILL)
        with pytest.raises(RLScopeError, match="taskset -c 0"):
            draw(drawings(tmp_path))


@pytest.mark.usefixtures("two_processors")
def test_nobody_draws_on_after_an_error() -> None:
    before = set(psutil.Process().children())
    with pytest.raises(ZeroDivisionError), second_process():
        assert len(set(psutil.Process().children()) - before) == 1
        raise ZeroDivisionError
    assert not set(psutil.Process().children()) - before


def test_what_is_drawn_is_known_before_it_is_drawn() -> None:
    figure = transitions_figure(TABLE, "count")
    with paper():
        area = figure.get_tightbbox()
        figure.canvas.draw()
        assert figure.get_tightbbox().extents == pytest.approx(area.extents)
