"""Building the image: what is shown, what stops it, and that the next build goes on from there."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from container_runs import Checkout, base_and_wheels
from engine_relay import Relay

BUILD = ("--flavour", "cpu", *base_and_wheels(), "--build")


def is_running(text: str) -> bool:
    """Whether a process, of whatever container, was called with these words."""
    for arguments in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if text in arguments.read_text().replace("\0", " "):
                return True
        except OSError:
            continue  # it has ended meanwhile
    return False


def wait_for(step: str, building: "subprocess.Popen[str]") -> None:
    """Returns when the build has come to a step."""
    deadline = time.monotonic() + 60
    while not is_running(step):
        assert time.monotonic() < deadline and building.poll() is None
        time.sleep(0.1)


def test_a_build_that_fails_half_way_goes_on_there(small: Checkout) -> None:
    small.dockerfile("RUN echo first", "RUN echo this is why && exit 9", "RUN echo third")
    failed = small.call(*BUILD)
    assert failed.returncode == 125
    assert failed.stdout == ""
    *_, said, error = failed.stderr.splitlines()
    assert said.endswith("this is why")
    assert "RUN echo this is why && exit 9 failed: exit code: 9" in error
    log = small.output / "docker" / "build.log"
    assert str(log) in error
    assert "this is why" in log.read_text()

    small.dockerfile("RUN echo first", "RUN echo this is why", "RUN echo third")
    went_on = small.call(*BUILD)
    assert went_on.returncode == 0, went_on.stderr
    assert "RUN echo third" in went_on.stderr
    first = re.search(r"^(#\d+) .*RUN echo first$", log.read_text(), re.MULTILINE)
    assert first and f"{first[1]} CACHED" in log.read_text()


def test_without_a_network_the_error_says_so(small: Checkout) -> None:
    failed = small.call("--flavour", "cpu", "--base-image", "registry.invalid/base:1", "--build")
    assert failed.returncode == 125
    assert "look whether this machine reaches" in failed.stderr.splitlines()[-1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_build_leaves_none_running(small: Checkout, number: signal.Signals) -> None:
    step = f"sleep 33{number.value:02d}"
    small.dockerfile(f"RUN {step}")
    building = small.begin(*BUILD)
    wait_for(step, building)
    os.killpg(building.pid, number)
    _, said = building.communicate(timeout=30)
    assert building.returncode == 128 + number
    assert said.splitlines()[-1].startswith("run_docker.py: interrupted")
    deadline = time.monotonic() + 30
    while is_running(step):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_an_engine_that_dies_is_said_and_the_next_build_goes_on(small: Checkout, relay: Relay) -> None:
    step = "sleep 3344"
    small.dockerfile("RUN echo first", f"RUN {step}")
    through = Checkout(small.folder, small.environment | {"DOCKER_HOST": f"unix://{relay.path}"})
    building = through.begin(*BUILD)
    wait_for(step, building)
    relay.fail()
    _, said = building.communicate(timeout=30)
    assert building.returncode == 125
    assert "found no answer any more" in said.splitlines()[-1]

    small.dockerfile("RUN echo first", "RUN true")
    assert small.call(*BUILD).returncode == 0
    assert " CACHED" in (small.output / "docker" / "build.log").read_text()


def test_an_image_is_built_when_what_it_is_made_of_changes(small: Checkout) -> None:
    run = ("--flavour", "cpu", "--run", "true")
    first = small.call("--flavour", "cpu", *base_and_wheels(), "--run", "true")
    assert "building rlscope:small: there is none yet" in first.stderr
    assert "building" not in small.call(*run).stderr

    (small.folder / "rlscope" / "version.py").write_text("__version__ = '0.0.0'\n")
    assert "building" not in small.call(*run).stderr

    lock = small.folder / "requirements" / "torch.lock.txt"
    lock.write_text(f"{lock.read_text()}\n")
    assert (
        "its locked packages have changed" in small.call("--flavour", "cpu", *base_and_wheels(), "--run", "true").stderr
    )
