"""This file names what the sweep finds of lines: the time in Python, the native calls made there, and waits.

The extension module makes these classes (src/analysis_module/swept.cpp), each with its fields in the order given here.
"""

from typing import NamedTuple


class SweptLine(NamedTuple):
    """Ticks of the process in Python, by the line of its innermost frame.

    A row with function "" has what is left after the last stack of the operation that was seen.
    """

    stage: str
    operation: str
    function: str
    file: str
    line: int
    stacks: int
    ticks: int


class SweptSyncPoint(NamedTuple):
    """A CUDA call that waits for a device, in the native function that made it.

    Attributes:
        stage: The stage.
        operation: The operation.
        function: The native function; "" if there was none around the CUDA call.
        wait: The CUDA call.
        calls: How many began.
        ticks: How long they took on their threads.
        caller: The Python function from which most of those were made that a stack tells of; "" if there is none.
        file: Where it is.
        line: The line.
        line_stacks: How many of the stacks are of this line.
        stacks: How many were seen in such calls of the function.
    """

    stage: str
    operation: str
    function: str
    wait: str
    calls: int
    ticks: int
    caller: str
    file: str
    line: int
    line_stacks: int
    stacks: int


class SweptCallSite(NamedTuple):
    """A line of Python that called a native function.

    Attributes:
        stage: The stage.
        operation: The operation.
        category: The layer of the native function.
        function: The native function.
        caller: The Python function.
        file: Where it is.
        line: The line.
        stacks: How many were seen in its calls, one in each.
        waiting_stacks: How many of these calls waited for a device.
        share_of_calls: Its part of the operation's calls of the function, an estimate from 0 to 1.
        share_of_ticks: Its part of their time, the same.
        ticks: How long its calls took, estimated.
    """

    stage: str
    operation: str
    category: str
    function: str
    caller: str
    file: str
    line: int
    stacks: int
    waiting_stacks: int
    share_of_calls: float
    share_of_ticks: float
    ticks: float
