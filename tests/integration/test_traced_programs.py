"""A program that is traced or profiled while it trains: the recording tells of it."""

import sys
from pathlib import Path

import pytest
from recording import record

import rlscope

PROGRAM = """
import cProfile, sys, threading, time
def step(n):
    return sum(map(abs, range(n)))
def told(frame, event, argument):
    return None
{begin}
end_s = time.process_time() + 0.5
while time.process_time() < end_s:
    step(1000)
{end}
"""


@pytest.mark.parametrize(
    ("begin", "end", "is_found"),
    [
        ("profile = cProfile.Profile(); profile.enable()", "profile.create_stats()", True),
        ("profile = cProfile.Profile().__enter__()", "", True),
        ("sys.settrace(told)", "", True),
        ("sys.setprofile(told)", "", True),
        ("sys.setprofile(None); cProfile.Profile()", "", False),
    ],
)
def test_a_program_that_is_traced_is_told_to_train_without(
    begin: str, end: str, is_found: bool, tmp_path: Path
) -> None:
    record(tmp_path / "trace", sys.executable, "-c", PROGRAM.format(begin=begin, end=end))
    found = rlscope.analyze(tmp_path / "trace").findings
    assert ("RLS104" in [row.code for row in found]) == is_found
