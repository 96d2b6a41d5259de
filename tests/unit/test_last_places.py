"""Where threads were at their last records: what was begun and not ended, since when, and their last stacks."""

from pathlib import Path

import pytest
from trace_builder import parse_script, write_script

from rlscope._analysis import last_places
from rlscope.analysis.hang.swept import CalledWait, OpenCall, StackPlace

SCRIPT = """
process start=10
thread 0
20 + step
30 + backend:f
40 -
50 + wait:posix.read_pipe
thread 1
25 + inference
30 -
stacks 9
35 sees 0 main:a.py:3 f:b.py:7
60 sees 0 main:a.py:4 get:queues.py:9
70 sees 0
"""


@pytest.mark.parametrize("per_chunk", [1, 2, 1000])
def test_the_innermost_boundary_has_its_begin_in_whichever_chunk_that_is(per_chunk: int, tmp_path: Path) -> None:
    main, other = last_places(write_script(parse_script(SCRIPT), tmp_path, per_chunk)).threads
    assert [(call.kind, call.name) for call in main.calls] == [("operation", "step"), ("wait", "posix.read_pipe")]
    assert main.calls[-1].start_ticks == 50
    assert (main.last_ticks, other.last_ticks, other.calls) == (50, 30, [])


def test_an_operation_that_began_in_a_chunk_that_is_not_read_has_no_begin(tmp_path: Path) -> None:
    script = parse_script("process start=10\nthread 0\n20 + step\nchunk\n30 + wait:recv\nchunk\n")
    (main,) = last_places(write_script(script, tmp_path)).threads
    assert main.calls == [OpenCall("operation", "step", 0), OpenCall("wait", "recv", 30)]


def test_the_last_stack_is_one_that_was_not_torn(tmp_path: Path) -> None:
    main, other = last_places(write_script(parse_script(SCRIPT), tmp_path)).threads
    assert (main.stack, main.stack_ticks) == ([StackPlace("get", "queues.py", 9), StackPlace("main", "a.py", 4)], 60)
    assert (other.stack, other.stack_ticks) == ([], 0)


def test_waits_at_channels_are_named(tmp_path: Path) -> None:
    script = parse_script("process start=10\nthread 0\n20 message posix.write pipe:[3] bytes 4\n30 + wait:recv\n40 -\n")
    assert last_places(write_script(script, tmp_path)).waits == [CalledWait("posix.write pipe:[3]")]
