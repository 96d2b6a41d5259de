"""This file builds the container's image for run_docker.py: when, with which steps shown, and why it failed."""

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TextIO

import click

from container.compose import Compose
from container.engine import BASE_IMAGE_LABEL, ENVIRONMENT_LABEL, what_to_do
from container.errors import ContainerError
from container.project import CHECKOUT
from container.request import Request
from container.text import printable

#: What an image is made of besides the sources, which a container takes over when it starts.
ENVIRONMENT_FILES = ("dockerfiles/Dockerfile", "dockerfiles/sh/*", "requirements/torch.lock.txt")
#: How much of what the builder says is shown: lines of the step that fails, characters of a message.
LAST_LINES = 5
LONGEST = 150


def environment_hash() -> str:
    """Return a fingerprint of ENVIRONMENT_FILES: only a change of these builds an image anew."""
    files = sorted(file for pattern in ENVIRONMENT_FILES for file in CHECKOUT.glob(pattern))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def why_build(request: Request, labels: dict[str, str] | None) -> str | None:
    """Return why the image must be built before it is used; None where it need not.

    Args:
        request: what is asked for.
        labels: of the image that is there; None where there is none.
    """
    if labels is None:
        return "there is none yet"
    if labels.get(ENVIRONMENT_LABEL) != environment_hash():
        return "its Dockerfile or its locked packages have changed"
    if request.base_image not in (None, labels.get(BASE_IMAGE_LABEL)):
        return "another base image is asked for"
    return "its base image is to be fetched anew" if request.pull else None


def build(compose: Compose, log: Path) -> None:
    """Build the image: the steps are shown on stderr, everything goes into `log`."""
    steps = Steps(sys.stderr)
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with log.open("w") as file, compose.started(compose.build(), **pipes) as process:
        for line in process.stdout or ():
            file.write(line)
            steps.show(line.rstrip())
    steps.end()
    if process.returncode != 0:
        raise failure(log)


def failure(log: Path) -> ContainerError:
    """Return which step failed, after the last of what it said."""
    text = log.read_text()
    # " > [cpu 3/9] RUN make setup:", then the last lines of that step, between lines of dashes
    report = re.search(r"^ > (\[[^\]]+\] .+):\n(.*?)^------", text, re.MULTILINE | re.DOTALL)
    step, said = (report[1], report[2]) if report else ("it", text)
    for line in said.strip().splitlines()[-LAST_LINES:]:
        click.echo(f"  {printable(line)}", err=True)
    last = re.sub("failed to solve: |process .* did not complete successfully: ", "", text.strip().rpartition("\n")[2])
    return ContainerError(
        f"expected the build to end well, found that {_title(step)[:LONGEST]} failed: {last[-LONGEST:]}"
        f"{what_to_do(said + last)}; all that was said is in {log}; the next build goes on from this step"
    )


class Steps:
    """The steps of a build as they begin and, on a terminal, what the present one says."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._seen: set[str] = set()
        self._clear = "\r\x1b[K" if stream.isatty() else ""

    def show(self, line: str) -> None:
        """Take a line of the builder: `#7 [cpu 3/9] RUN make` begins a step, `#7 1.25 text` is said in it."""
        if step := re.match(r"#\d+ (\[[^\]]+\] .+)", line):
            if step[1] not in self._seen and not re.match(r"\[\S+ (internal|context .*)\]", step[1]):
                self._write(_title(step[1]), "\n")
            self._seen.add(step[1])
        elif self._clear and (said := re.match(r"#\d+ [\d.]+ (.+)", line)):
            self._write(f"    {said[1]}", "")

    def end(self) -> None:
        """Clear what the last step said."""
        self._write("", "")

    def _write(self, text: str, end: str) -> None:
        width = shutil.get_terminal_size((120, 24)).columns - 1
        print(self._clear + printable(text)[:width], end=end, file=self._stream, flush=True)


def _title(step: str) -> str:
    """Return what a step does, without what it is given for that, on one line."""
    return " ".join(word for word in step.split() if not word.startswith("--mount="))
