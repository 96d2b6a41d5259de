"""This file codes what a Perfetto trace has once or rarely: tracks, counters, instants, phases.

Slices of threads and devices are coded in src/analysis/perfetto_writer.cpp. Field numbers are those of
perfetto/trace/trace_packet.proto and the messages that it holds.
"""

import struct
from collections.abc import Sequence

#: The sequence of packets that this file codes; tracks have those from the next number on.
SEQUENCE = 1
_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4
_MASK = (1 << 64) - 1


def number(field: int, value: int) -> bytes:
    """Code a field that holds an integer."""
    return _varint(field << 3) + _varint(value & _MASK)


def text(field: int, value: str | bytes) -> bytes:
    """Code a field that holds a text, or a message that is coded already."""
    content = value.encode(errors="replace") if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def tracer(name: str) -> bytes:
    """Say what made the file."""
    return text(1, text(45, text(4, name)))


def process_track(uuid: int, pid: int, name: str) -> bytes:
    """Describe a process."""
    return _descriptor(number(1, uuid) + text(3, number(1, pid) + text(6, name)))


def thread_track(uuid: int, pid: int, tid: int, name: str) -> bytes:
    """Describe a thread."""
    return _descriptor(number(1, uuid) + text(4, number(1, pid) + number(2, tid) + text(5, name)))


def track(uuid: int, parent: int, name: str) -> bytes:
    """Describe a track inside another one."""
    return _descriptor(number(1, uuid) + text(2, name) + number(5, parent))


def counter_track(uuid: int, parent: int, name: str) -> bytes:
    """Describe a counter; 0 is no parent."""
    return _descriptor(number(1, uuid) + text(2, name) + (number(5, parent) if parent else b"") + text(8, b""))


def span(uuid: int, category: str, name: str, start_ns: int, end_ns: int) -> bytes:
    """Code a slice."""
    begin = number(9, _BEGIN) + text(22, category) + text(23, name)
    return _event(uuid, start_ns, begin) + _event(uuid, end_ns, number(9, _END))


def instants(uuid: int, category: str, marks: Sequence[tuple[int, str]]) -> bytes:
    """Code instants, each by its time in nanoseconds and its name."""
    return b"".join(
        _event(uuid, at_ns, number(9, _INSTANT) + text(22, category) + text(23, name)) for at_ns, name in marks
    )


def counts(uuid: int, values: Sequence[tuple[int, float]]) -> bytes:
    """Code the values of a counter, each behind its time in nanoseconds."""
    return b"".join(_event(uuid, at_ns, number(9, _COUNTER) + _double(44, value)) for at_ns, value in values)


def _descriptor(content: bytes) -> bytes:
    return text(1, number(10, SEQUENCE) + text(60, content))


def _event(uuid: int, at_ns: int, event: bytes) -> bytes:
    return text(1, number(8, at_ns) + number(10, SEQUENCE) + text(11, number(11, uuid) + event))


def _double(field: int, value: float) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<d", value)


def _varint(value: int) -> bytes:
    coded = bytearray()
    while value >= 0x80:
        coded.append(value & 0x7F | 0x80)
        value >>= 7
    coded.append(value)
    return bytes(coded)
