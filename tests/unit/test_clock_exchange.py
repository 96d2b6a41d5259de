"""Asking another machine for the time: what is computed, what is answered, and what is not."""

import resource
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlscope.boot import boot_id
from rlscope.errors import UsageError
from rlscope.model import ClockExchange
from rlscope.monitor.clock_server import ClockServer
from rlscope.record.config import ClockSource, RecordConfig
from rlscope.record.run import clock_exchange
from rlscope.record.run.clock_exchange import (
    ANSWER,
    MAGIC,
    QUESTION,
    RemoteClock,
    best_exchange,
    exchange,
)

S = 1_000_000_000
TIMES = st.integers(0, 1 << 60)
DELAYS = st.integers(0, 1 << 40)


def changed(source: ClockSource, **values: Any) -> ClockSource:
    return ClockSource(**{**vars(source), **values})


@pytest.fixture(scope="module")
def server() -> Iterator[ClockServer]:
    with ClockServer(0) as running:
        yield running


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer may take its time where the machine is busy."""
    monkeypatch.setattr(clock_exchange, "PATIENCE_S", 60)


def test_offset_and_error() -> None:
    # The question takes 100 ns, the answer 300 ns; the other clock is 5 minutes ahead.
    found = exchange(asked_ns=1_000, came_ns=300 * S + 1_100, left_ns=300 * S + 1_150, received_ns=1_450)
    assert found == ClockExchange(monotonic_ns=1_225, offset_ns=300 * S - 100, error_ns=200)


@given(TIMES, st.integers(-(1 << 60), 1 << 60), DELAYS, DELAYS, DELAYS)
def test_error_bounds_the_offset(asked: int, offset: int, there: int, waits: int, back: int) -> None:
    came = asked + offset + there
    found = exchange(asked, came, came + waits, asked + there + waits + back)
    assert found is not None
    assert abs(found.offset_ns - offset) <= found.error_ns
    assert found.error_ns == (there + back + 1) // 2


def test_times_that_cannot_be() -> None:
    assert exchange(0, 100, 99, 50) is None  # answered before it came
    assert exchange(0, 100, 200, 99) is None  # was with the other for longer than it was away


@pytest.mark.usefixtures("patience")
def test_own_clock_is_no_offset(server: ClockServer) -> None:
    found = best_exchange(server.source)
    assert found is not None
    assert abs(found.offset_ns) <= found.error_ns
    assert server.source.boot_id == boot_id()


@pytest.mark.usefixtures("patience")
def test_any_of_the_addresses_may_answer(server: ClockServer) -> None:
    # The first is for documentation only: nobody is there.
    source = changed(server.source, addresses=("198.51.100.1", *server.source.addresses))
    assert best_exchange(source) is not None


def test_nobody_answers_without_the_token(server: ClockServer) -> None:
    clock = RemoteClock(changed(server.source, token="00" * 16))
    clock.ask()
    clock.ask()
    assert clock.as_property() == {"exchanges": [], "unanswered": 1}


def test_process_that_may_open_no_socket(server: ClockServer) -> None:
    clock = RemoteClock(server.source)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
    try:
        clock.ask()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert clock.as_property() == {"exchanges": [], "unanswered": 1}


@pytest.mark.usefixtures("patience")
def test_answers_are_kept(server: ClockServer) -> None:
    clock = RemoteClock(server.source)
    clock.ask()
    clock.ask()
    found = clock.as_property()
    assert found["unanswered"] == 0
    first, last = found["exchanges"]
    assert first["monotonic_ns"] < last["monotonic_ns"]
    assert set(first) == {"monotonic_ns", "offset_ns", "error_ns"}


def test_answers_are_no_longer_than_questions(server: ClockServer) -> None:
    assert ANSWER.size <= QUESTION.size
    question = QUESTION.pack(MAGIC, bytes.fromhex(server.source.token), b"a number")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(10)
        asking.connect((server.source.addresses[0], server.source.port))
        # Only the last is a question.
        for packet in (b"", question[:-1], question + b"\0", b"X" + question[1:], question):
            asking.send(packet)
        answer = asking.recv(1000)
        assert ANSWER.unpack(answer)[:2] == (MAGIC, b"a number")
        asking.setblocking(False)
        with pytest.raises(BlockingIOError):
            asking.recv(1000)


def test_who_answers_must_have_got_the_question(server: ClockServer) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))

        def answer_without_reading() -> None:
            _, asking = other.recvfrom(QUESTION.size)
            other.sendto(b"", asking)
            other.sendto(ANSWER.pack(MAGIC, bytes(8), 1, 2), asking)

        answering = threading.Thread(target=answer_without_reading)
        answering.start()
        assert best_exchange(changed(server.source, addresses=("127.0.0.1",), port=other.getsockname()[1])) is None
        answering.join()


def test_whom_to_ask_is_kept_with_the_trace(server: ClockServer, tmp_path: Path) -> None:
    config = RecordConfig(clock=server.source)
    config.save(tmp_path)
    assert RecordConfig.load(tmp_path) == config


def test_port_that_is_taken(server: ClockServer) -> None:
    with pytest.raises(UsageError, match=rf"UDP port {server.source.port} cannot be opened .*choose another one, or 0"):
        ClockServer(server.source.port)
