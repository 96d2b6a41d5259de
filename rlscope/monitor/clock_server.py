"""This file tells the processes of a recording that run on other machines what time it is on this one."""

import fcntl
import hmac
import os
import secrets
import select
import socket
import struct
import threading
import time
from types import TracebackType

from rlscope.boot import boot_id
from rlscope.errors import UsageError
from rlscope.record.config import ClockSource
from rlscope.record.run.clock_exchange import ANSWER, MAGIC, QUESTION

SIOCGIFADDR = 0x8915
IFREQ = struct.Struct("16s24x")
#: More are not asked: each question goes to all until one has answered.
MOST_ADDRESSES = 16


class ClockServer:
    """A UDP port that answers questions which name the recording's token; the answer is no longer than the question.

    The port is open from the start, so that its number can be told; questions are answered within the `with` block.

    Attributes:
        source: what a process has to know to ask.
    """

    def __init__(self, port: int) -> None:
        """Open the port; 0 chooses a free one.

        Raises:
            UsageError: the port cannot be opened.
        """
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind(("", port))
        except OSError as error:
            self._socket.close()
            raise UsageError(
                f"UDP port {port} cannot be opened for questions about the time: {error.strerror}; "
                "choose another one, or 0 for any that is free"
            ) from error
        self._token = secrets.token_bytes(16)
        self.source = ClockSource(boot_id() or "", own_addresses(), self._socket.getsockname()[1], self._token.hex())
        self._thread = threading.Thread(target=self._answer_all, daemon=True)
        self._until, self._stop = os.pipe()

    def __enter__(self) -> "ClockServer":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._stop)
        self._thread.join()
        os.close(self._until)
        self._socket.close()

    def _answer_all(self) -> None:
        while True:
            ready, _, _ = select.select([self._socket.fileno(), self._until], [], [])
            if self._until in ready:
                return
            try:
                self._answer_one()
            except OSError:  # who asked is not there any more
                continue

    def _answer_one(self) -> None:
        question, sender = self._socket.recvfrom(QUESTION.size + 1)
        came_ns = time.monotonic_ns()
        if len(question) != QUESTION.size:
            return
        magic, token, number = QUESTION.unpack(question)
        if magic == MAGIC and hmac.compare_digest(token, self._token):
            self._socket.sendto(ANSWER.pack(MAGIC, number, came_ns, time.monotonic_ns()), sender)


def own_addresses() -> tuple[str, ...]:
    """Return the IPv4 addresses at which other machines may reach this one; loopback where there is no other."""
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(asked, SIOCGIFADDR, IFREQ.pack(name.encode()))
            except OSError:  # an interface without an address
                continue
            found.append(socket.inet_ntoa(answer[20:24]))
    public = [address for address in found if not address.startswith("127.")]
    return tuple(public[:MOST_ADDRESSES] or found[:1])
