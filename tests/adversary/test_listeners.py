"""The one port that a recording may open: garbage gets no answer, no memory and no time of it."""

import os
import random
import socket
import threading
import time

from rlscope.monitor.clock_server import ClockServer
from rlscope.record.run.clock_exchange import MAGIC, QUESTION, best_exchange


def asked(server: ClockServer, number: bytes) -> bytes:
    return QUESTION.pack(MAGIC, bytes.fromhex(server.source.token), number)


def test_garbage_is_not_answered_and_delays_no_answer() -> None:
    chance = random.Random(3)
    with ClockServer(0) as server, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as hostile:
        address = ("127.0.0.1", server.source.port)
        sound = asked(server, b"12345678")
        packets = [chance.randbytes(chance.randrange(1500)) for _ in range(500)]
        packets += [sound[:-1], sound + b"x", b"", MAGIC, sound[:8] + os.urandom(16) + sound[24:], b"x" * 60_000]
        packets += [bytes([*sound[:place], sound[place] ^ 1, *sound[place + 1 :]]) for place in range(24)]
        threads = threading.active_count()
        for packet in packets:
            hostile.sendto(packet, address)
        hostile.settimeout(0.2)
        try:
            answer = hostile.recv(100)
        except TimeoutError:
            answer = b""
        assert answer == b""
        deadline_s = time.monotonic() + 20
        while best_exchange(server.source) is None:
            assert time.monotonic() < deadline_s
        assert threading.active_count() == threads


def test_an_answer_is_no_longer_than_the_question() -> None:
    with ClockServer(0) as server, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(20)
        question = asked(server, b"abcdefgh")
        asking.sendto(question, ("127.0.0.1", server.source.port))
        answer = asking.recv(1000)
        assert len(answer) <= len(question) and answer[8:16] == b"abcdefgh"
        # Nothing in it is the token.
        assert bytes.fromhex(server.source.token) not in answer


def test_who_asks_is_not_misled_by_others_answers() -> None:
    """An answer to another question, or of another length, is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as liar:
        liar.bind(("127.0.0.1", 0))
        liar.settimeout(20)

        def lie() -> None:
            _, sender = liar.recvfrom(100)
            for answer in (b"", b"x" * 32, MAGIC + b"87654321" + bytes(16), os.urandom(2000)):
                liar.sendto(answer, sender)

        thread = threading.Thread(target=lie)
        thread.start()
        with ClockServer(0) as server:
            source = server.source
        lying = type(source)(source.boot_id, ("127.0.0.1",), liar.getsockname()[1], source.token)
        assert best_exchange(lying) is None
        thread.join()
