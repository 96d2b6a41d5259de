"""This file defines the rows of the tables of ranks, as `table_rows` does those of others."""

from __future__ import annotations

from rlscope.analysis.rows import Row


class CollectiveRow(Row):
    """The calls of one kind that a rank made of a communicator, or the kernels that its device ran for them.

    Times are of calls that were found in all its members. A call that was made at 10 ms, waited for from 13 ms on and
    over at 20 ms, while the last member made it at 18 ms, has 3 ms hidden, 5 ms of waiting and 2 ms of transfer.
    A kernel is made when it starts and waited for until it ends. What its device did meanwhile hides it.

    Attributes:
        process: The rank.
        communicator: The communicator.
        operation: What the calls do, such as `all_reduce`.
        count: How many there were.
        matched: How many of them were found in all members.
        unwaited: How many of these nobody waited for; they have no times but `late_s`.
        bytes: The bytes of the rank's own part, of all calls; 0 of kernels, which do not say it.
        late_s: Seconds from the first member's call to this one's, summed.
        hidden_s: Seconds from the call to the wait for it, in which the rank did something else.
        wait_s: Seconds of the wait before the last member had made its call.
        transfer_s: Seconds of the wait after that.
    """

    process: str
    communicator: str
    operation: str
    count: int
    matched: int
    unwaited: int
    bytes: int
    late_s: float
    hidden_s: float
    wait_s: float
    transfer_s: float


class RankRow(Row):
    """This is what a rank did with its time. The last four columns sum to `wall_s`.

    Attributes:
        process: The rank.
        machine: Its machine.
        wall_s: How long it lived.
        compute_s: Seconds in which it did not wait.
        wait_s: Seconds in which it waited for the last member of a communicator to make its call.
        transfer_s: Other seconds in which it waited for calls of communicators.
        other_wait_s: All other seconds of category `wait`.
    """

    process: str
    machine: str
    wall_s: float
    compute_s: float
    wait_s: float
    transfer_s: float
    other_wait_s: float


class DeviceRankRow(Row):
    """This is what a rank's device did with the rank's time. The last four columns sum to `wall_s`.

    Attributes:
        process: The rank.
        device: The device's number in the trace.
        wall_s: How long the rank lived.
        compute_s: Seconds in which the device computed for it.
        wait_s: Other seconds in which it had a kernel of a communicator, and the last member's had not started.
        transfer_s: Other seconds in which it communicated.
        idle_s: Seconds in which it did nothing for the rank.
    """

    process: str
    device: int
    wall_s: float
    compute_s: float
    wait_s: float
    transfer_s: float
    idle_s: float


class StragglerRow(Row):
    """This says how long a rank kept the others waiting in the training loop, and what it did more than they.

    Attributes:
        process: The rank.
        calls: In how many calls it was the last.
        late_s: Seconds by which it was later than the last but one, as far as any other waited for them, summed.
        per_iteration_s: The same per iteration that it reported; None without any.
        others_wait_s: Seconds that the others waited for it, on average.
        span_s: Seconds from the first of the calls to the end of the last.
        speedup: How many times as fast the calls would follow each other at most, were it as late as the last but one.
        leads: Of 20 parts of the calls, one after the other, the share in which it kept the others longest.
        stands_out: Whether it leads in most parts, and the others wait for long enough.
        cause: The function in which it waited, or the layer in which it worked, for longest beyond the others' mean; ""
            where there is none.
        stage: The stage of that work, "" of a wait.
        cause_s: By how many seconds.
    """

    process: str
    calls: int
    late_s: float
    per_iteration_s: float | None
    others_wait_s: float
    span_s: float
    speedup: float | None
    leads: float
    stands_out: bool
    cause: str
    stage: str
    cause_s: float
