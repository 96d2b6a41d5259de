"""The names of pipes and sockets in a trace."""

import _io
import _socket
import contextlib
import io
import os
import pty
import select
import signal
import socket
import threading
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from calls import count_calls

from rlscope import _native
from rlscope._analysis import sweep
from rlscope.model import Category

FILE_METHODS = "read readall readinto write".split()
METHODS = "recv recv_into recvfrom recvfrom_into recvmsg recvmsg_into send sendall sendto sendmsg".split()


def inode(end: int | socket.socket) -> int:
    return os.fstat(end if isinstance(end, int) else end.fileno()).st_ino


@pytest.fixture
def recording(in_process: Callable[[], Path]) -> Iterator[Callable[[], dict[str, int]]]:
    """Records what reads and writes channels, until called: then returns how often each name was begun.

    Pipes that are open already are those of whatever runs the tests: a thread of its may write to them meanwhile.
    """
    others = pipes_open()
    for name in ("read", "write"):
        assert _native.intercept(getattr(os, name), f"posix.{name}", Category.WAIT)
    for name in FILE_METHODS:
        assert _native.intercept(vars(_io.FileIO)[name], f"_io.FileIO.{name}", Category.WAIT)
    for name in METHODS:
        assert _native.intercept(vars(_socket.socket)[name], f"_socket.socket.{name}", Category.WAIT)
    assert _native.intercept(_socket.socketpair, "_socket.socketpair", Category.WAIT)
    yield lambda: {
        name: count for name, count in count_calls(in_process()).items() if name.partition(" ")[2] not in others
    }


def pipes_open() -> set[str]:
    """The names of the pipes that this process has."""
    names = set()
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # the one that read the list
            names.add(os.readlink(f"/proc/self/fd/{number}"))
    return names


@pytest.fixture
def tcp_pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
        server.accept()[0] as accepted,
    ):
        yield client, accepted


def tcp_name(client: socket.socket) -> str:
    ends = sorted(f"{host}:{port}" for host, port in (client.getsockname(), client.getpeername()))
    return "tcp:" + "-".join(ends)


def test_a_wait_has_the_name_of_what_it_is_for_unless_the_channel_says_it(
    recording: Callable[[], dict[str, int]],
) -> None:
    poll = select.poll()
    assert _native.intercept(type(poll).poll, "select.poll.poll", Category.WAIT)
    reader, writer = os.pipe()
    poll.register(reader)
    os.write(writer, b"x")
    batches = _native.wait_call("next batch pipe:[7]")
    assert _native.name_waits(batches) is None
    assert poll.poll()
    assert os.read(reader, 1) == b"x"
    threads = [threading.Thread(target=poll.poll, args=(0,)) for _ in range(2)]  # theirs are not named
    for thread in threads:
        thread.start()
        thread.join()
    with pytest.raises(TypeError):
        _native.name_waits("next batch")  # type: ignore[arg-type]
    assert _native.name_waits(None) is batches
    poll.poll(0)
    channel = f"pipe:[{inode(reader)}]"
    assert recording() == {
        f"posix.write {channel}": 1,
        "next batch pipe:[7]": 1,
        f"posix.read {channel}": 1,
        "select.poll.poll": 3,
    }
    os.close(reader)
    os.close(writer)


def test_each_function_has_the_bytes_that_it_moved(
    recording: Callable[[], dict[str, int]],
    tcp_pair: tuple[socket.socket, socket.socket],
    in_process: Callable[[], Path],
) -> None:
    (client, accepted), (reader, writer) = tcp_pair, os.pipe()
    buffer, streams = bytearray(100), {f"pipe:[{os.fstat(reader).st_ino}]", tcp_name(client)}
    with open(reader, "rb", buffering=0) as read_file, open(writer, "wb", buffering=0) as written_file:
        written_file.write(memoryview(bytes(1000)))
        assert os.write(writer, b"x" * 2000) == 2000
        assert len(os.read(reader, 11)) == 11
        assert len(read_file.read(12)) == 12
        assert read_file.readinto(memoryview(buffer)[:13]) == 13
        written_file.close()
        assert len(read_file.readall()) == 2964
    client.send(bytes(21))
    client.sendall(array("d", range(22)))
    client.sendmsg([bytes(1), bytes(22)])
    client.sendto(bytes(24), client.getpeername())
    with contextlib.suppress(BlockingIOError):  # nothing is moved
        client.recv(1, socket.MSG_DONTWAIT)
    assert len(accepted.recv(1)) == accepted.recv_into(buffer, 1) == 1
    assert len(accepted.recvfrom(2)[0]) == accepted.recvfrom_into(buffer, 2)[0] == 2
    assert len(accepted.recvmsg(3)[0]) == accepted.recvmsg_into([memoryview(buffer)[:3]])[0] == 3
    recording()
    rows = [(*row.boundary.split(" ", 1), row.message_bytes) for row in sweep(in_process()).messages]
    # The process that runs the tests has other streams, to which another thread of it may write meanwhile.
    found = {function: size for function, stream, size in rows if stream in streams}
    assert found == {
        "_io.FileIO.write": 1000, "posix.write": 2000, "posix.read": 11, "_io.FileIO.read": 12,
        "_io.FileIO.readinto": 13, "_io.FileIO.readall": 2964, "_socket.socket.send": 21,
        "_socket.socket.sendall": 8 * 22, "_socket.socket.sendmsg": 23, "_socket.socket.sendto": 24,
        "_socket.socket.recv": 1, "_socket.socket.recv_into": 1, "_socket.socket.recvfrom": 2,
        "_socket.socket.recvfrom_into": 2, "_socket.socket.recvmsg": 3, "_socket.socket.recvmsg_into": 3,
    }  # fmt: skip


def test_a_pipe_has_its_inode(recording: Callable[[], dict[str, int]]) -> None:
    reader, writer = os.pipe()
    for _ in range(3):
        os.write(writer, b"x")
        assert os.read(reader, 1) == b"x"
    calls = recording()
    assert calls == {f"posix.write pipe:[{inode(writer)}]": 3, f"posix.read pipe:[{inode(reader)}]": 3}
    os.close(reader)
    os.close(writer)


def test_a_named_pipe_is_a_pipe(recording: Callable[[], dict[str, int]], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    end = os.open(tmp_path / "fifo", os.O_RDWR)
    os.write(end, b"x")
    assert os.read(end, 1) == b"x"
    name = f"pipe:[{inode(end)}]"
    assert recording() == {f"posix.write {name}": 1, f"posix.read {name}": 1}
    os.close(end)


def test_a_descriptor_that_is_used_again_is_another_channel(recording: Callable[[], dict[str, int]]) -> None:
    expected = {}
    descriptors = set()
    for _ in range(3):
        reader, writer = os.pipe()
        os.write(writer, b"x")
        expected[f"posix.write pipe:[{inode(writer)}]"] = 1
        descriptors.add(writer)
        os.close(reader)
        os.close(writer)
    assert recording() == expected
    assert (len(expected), len(descriptors)) == (3, 1)


def test_a_pair_of_sockets_has_the_lesser_inode(recording: Callable[[], dict[str, int]]) -> None:
    left, right = socket.socketpair()
    with left, right:
        name = f"socket:[{min(inode(left), inode(right))}]"
        left.sendall(b"x")
        assert right.recv(1) == b"x"
        os.write(right.fileno(), b"y")
        assert os.read(left.fileno(), 1) == b"y"
    functions = ("_socket.socket.sendall", "_socket.socket.recv", "posix.write", "posix.read")
    assert recording() == {f"{function} {name}": 1 for function in functions}


def test_an_end_that_was_closed_before_is_known(recording: Callable[[], dict[str, int]]) -> None:
    left, right = socket.socketpair()
    name = f"socket:[{min(inode(left), inode(right))}]"
    left.close()
    with right:
        assert right.recv(1) == b""
    assert recording() == {f"_socket.socket.recv {name}": 1}


def test_connected_unix_sockets_agree(recording: Callable[[], dict[str, int]], tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(str(tmp_path / "socket"))
        server.listen()
        client.connect(str(tmp_path / "socket"))
        accepted, _ = server.accept()
        with accepted:
            client.send(b"x")
            assert accepted.recv(1) == b"x"
            name = f"socket:[{min(inode(client), inode(accepted))}]"
    assert recording() == {f"_socket.socket.send {name}": 1, f"_socket.socket.recv {name}": 1}


def test_every_method_of_a_socket(
    recording: Callable[[], dict[str, int]], tcp_pair: tuple[socket.socket, socket.socket]
) -> None:
    client, accepted = tcp_pair
    name = tcp_name(client)
    buffer = bytearray(1)
    client.send(b"1")
    client.sendall(b"2")
    client.sendmsg([b"3"])
    client.sendto(b"4", 0, client.getpeername())
    client.send(b"5", 0)
    client.send(b"6")
    assert accepted.recv(1) == b"1"
    assert accepted.recv_into(buffer, nbytes=1) == 1
    assert accepted.recvfrom(1)[0] == b"3"
    assert accepted.recvfrom_into(buffer)[0] == 1
    assert accepted.recvmsg(1)[0] == b"5"
    assert accepted.recvmsg_into([buffer])[0] == 1
    calls = recording()
    assert calls == {f"_socket.socket.{method} {name}": 3 if method == "send" else 1 for method in METHODS}


def test_ipv4_behind_ipv6_is_as_its_other_end_has_it(recording: Callable[[], dict[str, int]]) -> None:
    if not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    with (
        socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as server,
        socket.create_connection(("127.0.0.1", server.getsockname()[1])) as client,
        server.accept()[0] as accepted,
    ):
        client.send(b"x")
        assert accepted.recv(1) == b"x"
        name = tcp_name(client)
    assert recording() == {f"_socket.socket.send {name}": 1, f"_socket.socket.recv {name}": 1}


def test_udp_has_a_name_once_it_is_connected(recording: Callable[[], dict[str, int]]) -> None:
    left, right = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    with left, right:
        for end in (left, right):
            end.bind(("127.0.0.1", 0))
        left.sendto(b"x", right.getsockname())
        assert right.recv(1) == b"x"
        left.connect(right.getsockname())
        left.send(b"y")
        name = tcp_name(left).replace("tcp", "udp")
    bare = {"_socket.socket.sendto": 1, "_socket.socket.recv": 1}
    assert recording() == {**bare, f"_socket.socket.send {name}": 1}


def test_every_method_of_a_raw_file(recording: Callable[[], dict[str, int]]) -> None:
    reader, writer = os.pipe()
    name = f"pipe:[{inode(writer)}]"
    with open(reader, "rb", buffering=0) as source, open(writer, "wb", buffering=0) as target:
        assert target.write(b"123") == 3
        assert source.read(1) == b"1"
        assert source.readinto(bytearray(1)) == 1
        target.close()
        assert source.readall() == b"3"
    assert recording() == {f"_io.FileIO.{method} {name}": 1 for method in FILE_METHODS}


def test_buffered_files_and_lines_of_text_are_read_through_raw_files(recording: Callable[[], dict[str, int]]) -> None:
    reader, writer = os.pipe()
    name = f"pipe:[{inode(writer)}]"
    with open(writer, "w") as target:
        target.write("one\ntwo\nthree\n")
    with open(reader) as source:
        assert source.readline() == "one\n"
        assert list(source) == ["two\n", "three\n"]
    calls = recording()
    assert calls[f"_io.FileIO.write {name}"] == 1  # all lines at once, as the file is closed
    assert calls.keys() == {f"_io.FileIO.write {name}", f"_io.FileIO.readinto {name}"}


def test_both_directions_of_a_pair_of_buffered_files(recording: Callable[[], dict[str, int]]) -> None:
    reader, writer = os.pipe()
    name = f"pipe:[{inode(writer)}]"
    with io.BufferedRWPair(open(reader, "rb", buffering=0), open(writer, "wb", buffering=0)) as both:
        both.write(b"x\n")
        both.flush()
        assert both.read1(2) == b"x\n"
    assert recording() == {f"_io.FileIO.write {name}": 1, f"_io.FileIO.readinto {name}": 1}


def test_files_on_disk_wait_for_nobody(recording: Callable[[], dict[str, int]], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("one\ntwo\n")
    with open(tmp_path / "file") as file:
        assert list(file) == ["one\n", "two\n"]
    assert (tmp_path / "file").read_bytes() == b"one\ntwo\n"
    assert recording() == {}


def test_errors_of_raw_files_are_the_program_s(recording: Callable[[], dict[str, int]]) -> None:
    reader, writer = os.pipe()
    with open(reader, "rb", buffering=0) as source, open(writer, "wb", buffering=0) as target:
        with pytest.raises(io.UnsupportedOperation):
            target.readinto(bytearray(1))  # type: ignore[attr-defined]
        with pytest.raises(TypeError):
            source.readinto(1)  # type: ignore[arg-type]
        os.set_blocking(reader, False)
        assert source.read(1) is None
    with pytest.raises(ValueError, match="closed file"):
        source.read(1)
    recording()


def test_terminals_are_read_without_a_name_and_files_not_at_all(
    recording: Callable[[], dict[str, int]], tmp_path: Path
) -> None:
    controller, terminal = pty.openpty()
    os.write(controller, b"x\n")
    assert os.read(terminal, 2) == b"x\n"
    file = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    os.write(file, b"x")
    assert os.read(file, 1) == b""
    assert recording() == {"posix.read": 1}
    for descriptor in (controller, terminal, file):
        os.close(descriptor)


def test_errors_are_the_program_s(recording: Callable[[], dict[str, int]]) -> None:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    with pytest.raises(BlockingIOError):
        os.read(reader, 1)
    os.close(reader)
    with pytest.raises(BrokenPipeError):
        os.write(writer, b"x")
    os.close(writer)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.write(writer, b"x")
    for wrong in ("x", 1 << 70):
        with pytest.raises((TypeError, OverflowError)):
            os.write(wrong, b"x")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        os.read()  # type: ignore[call-arg]
    closed = socket.socket()
    closed.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        closed.recv(1)
    assert sorted(name.partition(" ")[0] for name in recording()) == [
        "_socket.socket.recv",
        "posix.read",
        "posix.write",
    ]


def test_asking_for_a_name_leaves_no_descriptor_behind(recording: Callable[[], dict[str, int]]) -> None:
    left, right = socket.socketpair()
    with left, right:
        before = os.listdir("/proc/self/fd")
        left.send(b"x")
        assert right.recv(1) == b"x"
        assert os.listdir("/proc/self/fd") == before
    assert len(recording()) == 2


def test_a_signal_handler_may_write_while_the_program_reads(recording: Callable[[], dict[str, int]]) -> None:
    reader, writer = os.pipe()
    wakeup, woken = os.pipe()
    os.set_blocking(woken, False)
    handler = signal.signal(signal.SIGALRM, lambda *_: os.write(writer, b"x"))
    previous = signal.set_wakeup_fd(woken)
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    assert os.read(reader, 1) == b"x"
    signal.set_wakeup_fd(previous)
    signal.signal(signal.SIGALRM, handler)
    assert os.read(wakeup, 1) == bytes([signal.SIGALRM])
    name = f"pipe:[{inode(reader)}]"
    assert recording() == {f"posix.read {name}": 1, f"posix.write {name}": 1, f"posix.read pipe:[{inode(wakeup)}]": 1}
    for descriptor in (reader, writer, wakeup, woken):
        os.close(descriptor)
