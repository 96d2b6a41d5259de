"""This file declares what the sweep finds of lines: the time in Python, the native calls made there, and waits."""

from typing import NamedTuple

from rlscope.analysis.swept_types import CategoryLabel, Count, Estimate, Label, Number, Ticks


class SweptLine(NamedTuple):
    """Ticks of the process in Python, by the line of its innermost frame.

    A row with function "" has what is left after the last stack of the operation that was seen.
    """

    stage: Label
    operation: Label
    function: Label
    file: Label
    line: Number
    stacks: Count
    ticks: Ticks


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

    stage: Label
    operation: Label
    function: Label
    wait: Label
    calls: Count
    ticks: Ticks
    caller: Label
    file: Label
    line: Number
    line_stacks: Count
    stacks: Count


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

    stage: Label
    operation: Label
    category: CategoryLabel
    function: Label
    caller: Label
    file: Label
    line: Number
    stacks: Count
    waiting_stacks: Count
    share_of_calls: Estimate
    share_of_ticks: Estimate
    ticks: Estimate
