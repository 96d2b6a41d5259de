"""Twins: they take turns at the same places of one program, are recorded as asked, and say when one ends."""

import os
import time
from pathlib import Path

import psutil
import pytest

from rlscope import _native
from rlscope.analysis.analysis import analyze
from rlscope.analysis.sweep import sweep_trace
from rlscope.calibration.twins import MEASURED, SETTLING, Tick, Twin, run_twins
from rlscope.errors import RecordingError
from rlscope.record.config import LINES_HZ, RecordConfig
from rlscope.trace.reader import open_trace

ANNOTATIONS = RecordConfig(layers=(), auto=False)


pytestmark = pytest.mark.usefixtures("processors")


def operations(tick: Tick) -> None:
    """A burst is ten of them."""
    while True:
        tick()
        for _ in range(10):
            with _native.operation("evaluate"):
                pass


def test_bursts_of_recorded_twins(tmp_path: Path) -> None:
    twins = {"off": Twin(), "on": Twin(ANNOTATIONS), "many": Twin(ANNOTATIONS, amplification=16)}
    lengths = run_twins(twins, operations, tmp_path, seconds=0.1, swaps=2, settling=3)
    bursts = len(lengths["off"])
    assert bursts > 0 and {name: len(found) for name, found in lengths.items()} == dict.fromkeys(twins, bursts)
    assert all((found > 0).all() for found in lengths.values())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["many", "on"]
    for name, amplification in (("on", 1), ("many", 16)):
        trace = open_trace(tmp_path / name)
        swept = sweep_trace(trace)
        assert (trace.manifest["complete"], swept.why) == (True, ())
        assert len({process.file.header.pid for process in swept.processes}) == 3
        assert len(swept.processes) == 6  # each of three has had the role twice
        assert sum(process.found.events["operation"] for process in swept.processes) == 10 * (bursts + 6 * 3)
        for process in swept.processes:
            assert process.found.properties["amplification"] == amplification
            phases = {row[0] for row in process.found.breakdown if row[2] == "evaluate"}
            assert phases == {SETTLING, MEASURED}


def test_twins_take_turns_at_the_same_places(tmp_path: Path) -> None:
    """Each says where it is when its turn begins: nobody is two bursts ahead."""
    log = tmp_path / "log"

    def program(tick: Tick) -> None:
        burst = 0
        while True:
            tick()
            with log.open("a") as file:
                file.write(f"{os.getpid()} {burst}\n")
            burst += 1

    run_twins({"a": Twin(), "b": Twin(), "c": Twin()}, program, tmp_path, seconds=0.05, swaps=1, settling=2)
    turns = [line.split() for line in log.read_text().splitlines()]
    assert len({process for process, _ in turns}) == 3
    for place in range(0, len(turns), 3):
        cycle = turns[place : place + 3]
        assert {burst for _, burst in cycle} == {str(place // 3)}
        assert len({process for process, _ in cycle}) == 3


def test_roles_are_swapped_after_whole_cycles(tmp_path: Path) -> None:
    """Of three bursts, which go on where the last role ended, the second has an operation."""

    def program(tick: Tick) -> None:
        while True:
            for place in range(3):
                tick()
                if place == 1:
                    with _native.operation("evaluate"):
                        pass

    lengths = run_twins({"off": Twin(), "on": Twin(ANNOTATIONS)}, program, tmp_path, 0.1, swaps=2, settling=3, cycle=3)
    assert len(lengths["on"]) % (3 * 4) == 0
    for process in sweep_trace(open_trace(tmp_path / "on")).processes:
        assert process.found.events["operation"] == (len(lengths["on"]) // 4 + 3) // 3


def test_a_twin_is_measured_while_the_others_wait(tmp_path: Path) -> None:
    """By the clock that was asked for: sleeping takes no processor time."""

    def program(tick: Tick) -> None:
        while True:
            tick()
            time.sleep(0.02)

    lengths = run_twins({"a": Twin(), "b": Twin()}, program, tmp_path, 0.2, 1, 0, has_device=True)
    assert all((found >= 20_000_000).all() for found in lengths.values())
    lengths = run_twins({"a": Twin()}, program, tmp_path, 0.2, 1, 0)
    assert (lengths["a"] < 20_000_000).all()
    lengths = run_twins({"a": Twin()}, program, tmp_path, 0.2, 1, 0, has_device=True, clock=time.process_time_ns)
    assert (lengths["a"] < 20_000_000).all()


def test_lines_are_looked_at_in_their_role_alone(tmp_path: Path) -> None:
    """Each process has both roles, and the one with lines first or last.

    One burst is long enough for dozens of looks: on a busy machine a role may get no more than that.
    """

    def program(tick: Tick) -> None:
        while True:
            tick()
            for _ in range(100):
                with _native.operation("evaluate"):
                    sum(number * number for number in range(20_000))

    lines = RecordConfig(layers=(), auto=False, stacks_hz=LINES_HZ)
    run_twins({"lines": Twin(lines), "none": Twin(ANNOTATIONS)}, program, tmp_path, seconds=0.5, swaps=1, settling=1)
    assert sum(analyze(open_trace(tmp_path / "lines")).lines.table["stacks"]) > 0
    assert analyze(open_trace(tmp_path / "none")).lines.table.empty


def test_a_twin_that_ends_is_said_and_nothing_is_left(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def program(tick: Tick) -> None:
        while True:
            tick()
            if _native.is_recording():
                raise ValueError("the program fails")

    others = psutil.Process().children()  # such as the resource tracker of multiprocessing
    with pytest.raises(RecordingError, match="expected to run on, but its twin on ended"):
        run_twins({"off": Twin(), "on": Twin(ANNOTATIONS)}, program, tmp_path, seconds=10, swaps=1, settling=1)
    assert "ValueError: the program fails" in capfd.readouterr().err
    assert psutil.Process().children() == others
