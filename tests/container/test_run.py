"""One command in a container: whose it is, what comes out, and what is left when something goes wrong."""

import os
import select
import signal
import socket
import subprocess

import pytest
from container_runs import Checkout, base_and_wheels, containers
from engine_relay import Relay

CPU = ("--flavour", "cpu", *base_and_wheels())
FOREVER = ("--run", "sh", "-c", "echo begun; sleep 1000")


def begun(running: "subprocess.Popen[str]") -> None:
    """Waits for the command in the container."""
    assert running.stdout is not None
    assert running.stdout.readline() == "begun\n"


def shows(terminal: int, text: bytes, within_s: float = 60) -> bool:
    """Whether the text comes out of it in time."""
    shown = b""
    while text not in shown and select.select([terminal], [], [], within_s)[0]:
        shown += os.read(terminal, 1000)
    return text in shown


def test_streams_and_status_are_the_commands(small: Checkout) -> None:
    finished = small.call(*CPU, "--run", "sh", "-c", "cat; echo complaint >&2; exit 7", text="what was sent\n")
    assert finished.returncode == 7
    assert finished.stdout == "what was sent\n"
    assert "complaint\n" in finished.stderr


def test_options_reach_the_container(small: Checkout) -> None:
    data = small.folder / "data"
    data.mkdir()
    (data / "file").write_text("mounted")
    read = 'cat /data/file; echo " $PRICE"; touch /data/new || exit 3'
    options = ("--volume", f"{data}:/data:ro", "--env", "PRICE=5 $ or ${more}")
    finished = small.call(*CPU, *options, "--run", "sh", "-c", read)
    assert (finished.returncode, finished.stdout) == (3, "mounted 5 $ or ${more}\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_nothing_is_left(small: Checkout, number: signal.Signals) -> None:
    running = small.begin(*CPU, *FOREVER)
    begun(running)
    assert len(containers()) == 1
    os.killpg(running.pid, number)
    _, said = running.communicate(timeout=30)
    assert running.returncode == 128 + number
    assert said.splitlines()[-1].startswith("run_docker.py: interrupted")
    assert containers() == []


def test_ctrl_c_in_a_terminal_is_the_commands(small: Checkout) -> None:
    small.call(*CPU, "--build")
    ours, theirs = os.openpty()
    running = small.begin(*CPU, *FOREVER, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    assert shows(ours, b"begun")
    while not shows(ours, b"?", within_s=1):  # the engine sometimes loses what is typed in its first milliseconds
        os.write(ours, b"?")
    os.write(ours, b"\x03")
    assert running.wait(30) == 130
    os.close(ours)
    assert containers() == []


def test_an_engine_that_dies_is_said_and_the_next_run_clears_up(small: Checkout, relay: Relay) -> None:
    small.call(*CPU, "--build")
    through = Checkout(small.folder, small.environment | {"DOCKER_HOST": f"unix://{relay.path}"})
    running = through.begin(*CPU, *FOREVER)
    begun(running)
    relay.fail()
    _, said = running.communicate(timeout=30)
    assert running.returncode == 125
    assert "found no answer any more" in said.splitlines()[-1]
    assert len(containers()) == 1

    again = small.call(*CPU, "--run", "true")
    assert again.returncode == 0, again.stderr
    assert containers() == []


def test_a_port_that_is_taken(small: Checkout) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        refused = small.call(*CPU, "--publish", f"{port}:80", "--run", "true")
        assert refused.returncode == 2
        assert f"127.0.0.1:{port} taken; choose another one" in refused.stderr.splitlines()[-1]
    assert small.call(*CPU, "--publish", f"{port}:80", "--run", "true").returncode == 0


def test_a_read_only_output(small: Checkout) -> None:
    small.call(*CPU, "--build")
    folder = small.output / "docker"
    folder.chmod(0o555)
    (folder / "build.log").chmod(0o444)
    refused = small.call(*CPU, "--run", "true")
    assert refused.returncode == 2
    assert f"expected to write to {folder / 'build.log'}, found: Permission denied" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1

    folder.chmod(0o755)
    (folder / "build.log").chmod(0o644)
    assert small.call(*CPU, "--run", "true").returncode == 0


@pytest.mark.skipif(os.getuid() != 0, reason="needs root")
def test_root_is_told_that_output_is_somebody_elses(small: Checkout) -> None:
    small.call(*CPU, "--build")
    command = small.command("--flavour", "cpu", "--run", "true")
    as_root = command[command.index(str(small.folder / "run_docker.py")) - 1 :]
    refused = subprocess.run(as_root, env=small.variables(), capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "call this without sudo" in refused.stderr
