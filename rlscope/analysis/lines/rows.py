"""This file defines the rows of tables of lines: the time in Python, the native calls made there, and waits."""

from __future__ import annotations

from dataclasses import dataclass

from rlscope.analysis.rows import Row


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LineRow(Row):
    """A line of Python that had time of a process, from stacks that were looked at a thousand times a second.

    Of a process and operation the seconds, as recorded, sum to those of category python in the breakdown, and of
    no_core in Python while no device works. A row with function "" has what is left after the last stack that was seen
    there.

    Attributes:
        process: The process.
        stage: The stage of the operation.
        operation: The operation that was innermost.
        function: The qualified name.
        file: Where it is, from the package on.
        line: The line, 0 if it is not known.
        stacks: How many stacks were seen there.
        seconds: The process's time there.
    """

    process: str
    stage: str
    operation: str
    function: str
    file: str
    line: int
    stacks: int
    seconds: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FunctionRow(Row):
    """A function of Python in which stacks were seen, with the time of what it called and without it.

    Attributes:
        process: The process.
        stage: The stage of the operation that was innermost.
        purpose: What the time was for, as in `purposes`.
        function: The qualified name.
        file: Where it is, from the package on.
        line: The line at which it begins.
        is_own: Whether it is the program's own code: in no package that was installed, nor in the standard library.
        stacks: How many stacks were seen that pass it.
        own_stacks: In how many of them it was innermost.
        seconds: The process's time in it and in what it called, waits included, by the stacks that were seen.
        own_seconds: The same of what it did itself, with the native calls that it made.
    """

    process: str
    stage: str
    purpose: str
    function: str
    file: str
    line: int
    is_own: bool
    stacks: int
    own_stacks: int
    seconds: float
    own_seconds: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PossibleEvaluationRow(Row):
    """A function of the program's own that looks like a test of its policy, in the middle of training.

    Its name, or its class's, has a word such as *evaluate*, *test* or *validate*; stacks in it show steps of an
    environment and calls of networks, and none, but for late ones, an update, which the process makes elsewhere. Steps
    or calls of networks are outside of it as well. Of one such function in another the outer one has the time.

    Attributes:
        process: The process.
        function: The qualified name.
        file: Where it is, from the package on.
        line: The line at which it begins.
        stacks: How many stacks were seen that pass it.
        seconds: The training's time in it and in what it called, by these stacks.
        simulation_s: Of these in stage simulation.
        inference_s: Of these in stage inference.
    """

    process: str
    function: str
    file: str
    line: int
    stacks: int
    seconds: float
    simulation_s: float
    inference_s: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SyncPointRow(Row):
    """A place where a thread waited for a device: a CUDA call that waits, in the native function that made it.

    Attributes:
        process: The process.
        stage: The stage of the operation.
        operation: The operation that was innermost.
        function: The native function that was called, such as `torch.item`; "" if the call was made in none.
        wait: The CUDA call in it.
        count: How often.
        per_iteration: How often in each iteration of the run; None without progress.
        seconds: How long these took on their threads, summed.
        caller: The Python function that most of those made in which a stack was seen; "" if none was.
        file: Where it is, from the package on.
        line: The line, 0 if it is not known.
        line_stacks: How many of the stacks are of this line.
        stacks: How many were seen.
    """

    process: str
    stage: str
    operation: str
    function: str
    wait: str
    count: int
    per_iteration: float | None
    seconds: float
    caller: str
    file: str
    line: int
    line_stacks: int
    stacks: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CallSiteRow(Row):
    """A line of Python that called a native function, from stacks that were seen in its calls.

    Attributes:
        process: The process.
        stage: The stage of the operation.
        operation: The operation that was innermost.
        category: The layer of the native function.
        function: The native function.
        caller: The qualified name of the Python function.
        file: Where it is, from the package on.
        line: The line, 0 if it is not known.
        stacks: How many were seen in its calls, one in each.
        waiting_stacks: How many of these calls waited for a device.
        calls_percent: Its part of the operation's calls of the function, estimated from these.
        time_percent: Its part of their time, the same.
        seconds: How long its calls took, estimated: where stacks changed while they were read, less than they did.
    """

    process: str
    stage: str
    operation: str
    category: str
    function: str
    caller: str
    file: str
    line: int
    stacks: int
    waiting_stacks: int
    calls_percent: float
    time_percent: float
    seconds: float
