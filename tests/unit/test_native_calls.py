"""Where the CPU waited for the GPU, which lines made native calls, and whose launches the GPU waited for, as tables."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from trace_builder import parse_script, write_scripts

from rlscope.cli.analyze import analyze as analyze_verb

#: An update that reads its loss with .item() in line 7 four times out of five, else in line 9, and waits for 60 ticks.
WAITS = "process start=0 stop=2000000\nthread 0\n" + "".join(
    f"""{at} + backpropagation
{at + 5} + backend:torch.item
{at + 10} + cuda_wait:cudaStreamSynchronize
{at + 70} -
{at + 80} -
{at + 100} -
{at + 100} progress {number}
"""
    for number, at in enumerate(range(1000, 2000, 100))
)
STACKS = "stacks 9\n" + "".join(
    f"{1020 + 100 * number} sees 0 update:/home/me/rl/train.py:{9 if number % 5 == 4 else 7}\n" for number in range(10)
)
#: 100 kernels of 2 ticks, one every 10 ticks, which Python launches.
LAUNCHES = (
    "process start=0 stop=2000\nthread 0\n0 + training_loop\n0 + inference\n1100 -\n1100 -\nqueue 9 device=0\n"
    + "".join(f"{at}-{at + 2} kernel gemm launch=inference/inference\n" for at in range(0, 1000, 10))
)


def analyzed(script: str, tmp_path: Path, *options: str) -> str:
    """What `rlscope analyze` prints of a process."""
    write_scripts([parse_script(script)], tmp_path)
    result = CliRunner().invoke(analyze_verb, [str(tmp_path), *options], catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def document(script: str, tmp_path: Path) -> Any:
    return json.loads(analyzed(script, tmp_path, "--json"))


def test_points_are_rows_of_the_document(tmp_path: Path) -> None:
    (row,) = document(WAITS + STACKS, tmp_path)["sync_points"]
    assert row == {
        "process": row["process"], "stage": "backpropagation", "operation": "backpropagation", "function": "torch.item",
        "wait": "cudaStreamSynchronize", "count": 10, "per_iteration": 1.0, "seconds": pytest.approx(6e-7),
        "caller": "update", "file": "/home/me/rl/train.py", "line": 7, "line_stacks": 8, "stacks": 10,
    }  # fmt: skip


def test_points_need_no_stacks(tmp_path: Path) -> None:
    found = document(WAITS, tmp_path)
    assert [(row["count"], row["line"], row["stacks"]) for row in found["sync_points"]] == [(10, 0, 0)]
    assert "call_sites" not in found


def test_sites_are_rows_of_the_document(tmp_path: Path) -> None:
    rows = document(WAITS + STACKS, tmp_path)["call_sites"]
    assert [(row["line"], row["stacks"], row["waiting_stacks"]) for row in rows] == [(7, 8, 8), (9, 2, 2)]
    assert [row["calls_percent"] for row in rows] == pytest.approx([80, 20])


def test_a_frame_of_the_recorder_does_not_hide_whose_call_it_is(tmp_path: Path) -> None:
    """A function without a module is of the package of the innermost line that is a place."""
    call = "process start=0 stop=100\nthread 0\n10 + simulator:step\n60 -\nstacks 9\n"
    frames = "main:a.py:3 g:/x/site-packages/made/c.py:9"
    for hidden in ("", " load:/x/rlscope/boot.py:1"):
        directory = tmp_path / f"with{hidden != ''}"
        (row,) = document(f"{call}50 sees 0 {frames}{hidden}\n", directory)["call_sites"]
        assert (row["caller"], row["line"]) == ("main", 3)


def test_analyze_shows_points_with_their_lines(tmp_path: Path) -> None:
    shown = analyzed(WAITS + STACKS, tmp_path, "--all")
    table = shown.partition("Where the CPU waited for the GPU\n")[2].partition("\n\n")[0]
    (line,) = (line for line in table.splitlines() if "torch.item" in line)
    cells = line.split()  # a long name may be cut where the columns are wide
    assert cells[1:4] + cells[5:] == ["torch.item", "10", "1", "rl/train.py:7", "8", "of", "10"]
    assert float(cells[4]) == 6e-7


def test_analyze_by_line_shows_sites(tmp_path: Path) -> None:
    shown = analyzed(WAITS + STACKS, tmp_path, "--by", "line")
    (line,) = (line for line in shown.splitlines() if "train.py:7" in line and "torch.item" in line)
    assert line.split()[-3:] == ["8", "80", "80"]


def test_launches_have_means_and_what_a_graph_saves(tmp_path: Path) -> None:
    """99 gaps of 8 ticks lie between the kernels, and 108 more ticks of inference follow the last one."""
    (row,) = document(LAUNCHES, tmp_path)["launches"]
    assert (row["operation"], row["launches"]) == ("inference", 100)
    assert row["kernel_s"] == pytest.approx(2e-9)
    assert row["gap_s"] == pytest.approx(9e-9)
    assert row["graph_saves_s"] == pytest.approx(900e-9)


def test_few_launches_are_no_loop(tmp_path: Path) -> None:
    assert document(LAUNCHES.replace("0-2 kernel gemm launch=inference/inference\n", "", 1), tmp_path)["launches"] == []
