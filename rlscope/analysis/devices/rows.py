"""This file defines the rows of the tables of devices, as `table_rows` does those of others."""

from __future__ import annotations

from rlscope.analysis.rows import Row


class GpuRow(Row):
    """A device that was used.

    Attributes:
        device: Its number in the trace.
        uuid: As nvidia-smi writes it.
        busy_s: Seconds in which something ran on it for any process.
        communication_s: Of these, seconds in which it communicated with other devices.
        exposed_s: Of these, seconds in which it did nothing else.
        kernel_s: The sum of the kernels' durations.
        reported_utilization: From 0 to 1; None if it was not sampled.
        name: The model. Not in the JSON document.
    """

    device: int
    uuid: str | None
    busy_s: float
    communication_s: float
    exposed_s: float
    kernel_s: float
    reported_utilization: float | None
    name: str | None


class GpuOperationRow(Row):
    """This is what an operation of a process launched on a device: `busy_s`, which sums to how long it worked for
    it. Of that it did nothing but communicate with other devices for `exposed_s`.
    """

    process: str
    device: int
    operation: str
    busy_s: float
    exposed_s: float
    kernels: int


class DeviceWorkRow(Row):
    """The work of one `name` that an operation launched: how many pieces, the sum of durations, the bytes moved."""

    process: str
    device: int
    stage: str
    operation: str
    name: str
    count: int
    seconds: float
    bytes: int


class DeviceTimelineRow(Row):
    """A part of the run: the share in which a device worked for any process, and its `reported` utilization, 0 to 1.

    Of `busy`, it did nothing but communicate with other devices for the share `exposed` of the part.
    """

    device: int
    start_s: float
    end_s: float
    busy: float
    exposed: float
    reported: float | None


class DeviceShareRow(Row):
    """This is how long a device worked for a process, of those that have a device in common.

    In the row with process "" the two columns sum to the device's `busy_s`.

    Attributes:
        device: Its number in the trace.
        process: The process, "" for all of them together.
        alone_s: Seconds in which it worked for this process alone; of all, for one process at a time.
        shared_s: Seconds in which it worked for this process and others at once; of all, for two or more.
    """

    device: int
    process: str
    alone_s: float
    shared_s: float


class DeviceSwitchRow(Row):
    """This says how often a device passed from a process to another, `to`, and did nothing between the work of both.

    Attributes:
        device: Its number in the trace.
        from_: The process that it worked for last.
        to: The one that it worked for next.
        count: How often.
        seconds: How long it did nothing between them, summed.
        longest_s: The longest of these times.
    """

    device: int
    from_: str
    to: str
    count: int
    seconds: float
    longest_s: float


class LaunchRow(Row):
    """An operation of the training loop whose launches a device waited for.

    Attributes:
        process: The process.
        device: The device's number in the trace.
        stage: The stage.
        operation: The operation that launched kernels.
        launches: How many kernels.
        kernel_s: How long one took, on average.
        gap_s: How long the device did nothing for each, while the process was in Python, the backend or CUDA there.
        graph_saves_s: The most that launching them as one CUDA graph saves: all of these gaps.
    """

    process: str
    device: int
    stage: str
    operation: str
    launches: int
    kernel_s: float
    gap_s: float
    graph_saves_s: float


class DeviceIdleRow(Row):
    """This is time in the training loop in which a device worked for no process, by what one of them did meanwhile.

    Attributes:
        device: Its number in the trace.
        process: The process that speaks for the device, "" if none of those that use it was in its training loop.
        cause: As `rlscope.analysis.devices.idle` defines it.
        stage: The stage of that process.
        operation: Its operation.
        seconds: How long.
    """

    device: int
    process: str
    cause: str
    stage: str
    operation: str
    seconds: float
