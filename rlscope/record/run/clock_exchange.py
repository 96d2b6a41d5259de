"""Asks the machine that runs `rlscope record` for the time, to learn how far its clock is from this machine's."""

import contextlib
import os
import socket
import struct
import time
from typing import Any

from rlscope.model import ClockExchange
from rlscope.record.config import ClockSource

MAGIC = b"RLSCLK1\0"
#: Magic, token of the recording, a random number that the answer repeats.
QUESTION = struct.Struct("<8s16s8s")
#: Magic, the number of the question, CLOCK_MONOTONIC when the question came and when the answer left.
ANSWER = struct.Struct("<8s8s2q")
#: As many answers; the one that took the shortest time on its way tells most.
ANSWERS = 8
PATIENCE_S = 0.05
#: A packet that is not answered so long may be lost.
REPEAT_S = 0.01


def exchange(asked_ns: int, came_ns: int, left_ns: int, received_ns: int) -> ClockExchange | None:
    """Offset and error from the four times of RFC 5905, section 8; None for times that cannot be.

    How the time that both packets were under way divides between them is not known, so the offset is known to half.

    Args:
        asked_ns: the question left, by this machine's clock.
        came_ns: it came, by the other's.
        left_ns: the answer left, by the other's.
        received_ns: it came, by this machine's.
    """
    delay_ns = (received_ns - asked_ns) - (left_ns - came_ns)
    if left_ns < came_ns or delay_ns < 0:
        return None
    offset_ns = ((came_ns - asked_ns) + (left_ns - received_ns)) // 2
    return ClockExchange((asked_ns + received_ns) // 2, offset_ns, (delay_ns + 1) // 2)


def best_exchange(source: ClockSource) -> ClockExchange | None:
    """Asks some times and keeps the shortest exchange; None where nobody answers within `PATIENCE_S` seconds."""
    addresses = source.addresses
    asked_ns: dict[bytes, int] = {}
    found: list[ClockExchange] = []
    deadline_s = time.monotonic() + PATIENCE_S
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as questions:
        while len(found) < ANSWERS and time.monotonic() < deadline_s:
            number = os.urandom(8)
            question = QUESTION.pack(MAGIC, bytes.fromhex(source.token), number)
            asked_ns[number] = time.monotonic_ns()
            for address in addresses:
                with contextlib.suppress(OSError):  # no way there from this machine
                    questions.sendto(question, (address, source.port))
            answer = _await_answer(questions, asked_ns, min(deadline_s, time.monotonic() + REPEAT_S))
            if answer is not None:
                addresses = (answer[0],)
                found.append(answer[1])
    return min(found, key=lambda candidate: candidate.error_ns, default=None)


def _await_answer(
    questions: socket.socket, asked_ns: dict[bytes, int], until_s: float
) -> tuple[str, ClockExchange] | None:
    """Return the address that first answers any of the questions, and its answer; None if none comes in time."""
    while (left_s := until_s - time.monotonic()) > 0:
        questions.settimeout(left_s)
        try:
            packet, (address, _) = questions.recvfrom(ANSWER.size + 1)
        except OSError:
            return None
        received_ns = time.monotonic_ns()
        if len(packet) != ANSWER.size:
            continue
        magic, number, came_ns, left_ns = ANSWER.unpack(packet)
        if magic != MAGIC or number not in asked_ns:
            continue
        found = exchange(asked_ns.pop(number), came_ns, left_ns, received_ns)
        if found is not None:
            return address, found
    return None


class RemoteClock:
    """The clock of the machine that runs `rlscope record`, as seen from a process on another one."""

    def __init__(self, source: ClockSource) -> None:
        self._source = source
        self._exchanges: list[ClockExchange] = []
        self._unanswered = 0

    def ask(self) -> None:
        """Compare the two clocks once more, but not again after nobody has answered."""
        if self._unanswered:
            return
        try:
            found = best_exchange(self._source)
        except OSError:  # too many open files: the recording goes on without
            found = None
        if found is None:
            self._unanswered += 1
        else:
            self._exchanges.append(found)

    def as_property(self) -> dict[str, Any]:
        """Return what a process file says of the clock."""
        return {"exchanges": [found._asdict() for found in self._exchanges], "unanswered": self._unanswered}
