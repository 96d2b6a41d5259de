"""This file declares what the sweep finds of lines: the time in Python, the native calls made there, and waits."""

from typing import NamedTuple

from rlscope.analysis.swept_types import CategoryLabel, Count, Estimate, Label, Number, Place, Ticks


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


class SweptStack(NamedTuple):
    """A stack: a line of a function, and the stack that called it. Callers stand before what they called.

    Frames of the recorder and of the import system are left out.

    Attributes:
        caller: The place of the stack that called it; None of an outermost one.
        function: The function.
        file: Where it is.
        first_line: The line at which the function begins.
        line: The line.
    """

    caller: Place | None
    function: Label
    file: Label
    first_line: Number
    line: Number


class SweptStackTime(NamedTuple):
    """The process did this where a stack was seen, while its time was that of the stack's thread.

    Attributes:
        phase: The phase of the process.
        purpose: What the operations were for; `training` if they say nothing of it.
        part: Of time outside of operations and phases the `LoopPart`; else empty.
        stage: The stage.
        operation: The operation.
        category: The layer: Python, with what it had no core, or the layer of the native call in which it was seen.
        function: The native function in which it was seen; "" of Python.
        stack: The place of the stack; None if all of its frames are of the recorder or the import system.
        stacks: How often it was seen.
        ticks: Of Python the ticks of the process, as lines have them; of native calls what these took, estimated.
    """

    phase: Label
    purpose: Label
    part: Label
    stage: Label
    operation: Label
    category: CategoryLabel
    function: Label
    stack: Place | None
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
