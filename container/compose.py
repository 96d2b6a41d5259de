"""This file has `docker compose` do what run_docker.py needs: its commands, configuration and processes."""

import json
import os
import pwd
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from container.engine import BASE_IMAGE_LABEL, ENVIRONMENT_LABEL, what_to_do
from container.errors import ContainerError
from container.project import CHECKOUT, PROJECT
from container.request import Request

COMPOSE_FILE = CHECKOUT / "dockerfiles" / "compose.yaml"
#: Root without capabilities may not write into a folder of somebody else, such as the caller's output/.
COUNTER_CAPABILITIES = ["SYS_ADMIN", "DAC_OVERRIDE"]
PATIENCE_S = 10
#: Who a caller without a name that can be read is in the container.
NAMELESS = "rlscope"


class Compose:
    """`docker compose` for one request: its commands, and how they are run."""

    def __init__(self, request: Request, override: Path | str, variables: dict[str, str]) -> None:
        self.request = request
        self.variables = variables
        self._prefix = ["docker", "compose", "--project-name", PROJECT, "-f", str(COMPOSE_FILE), "-f", str(override)]

    def build(self) -> list[str]:
        """Make the image, with progress of the kind that a log can keep."""
        pull = ["--pull"] if self.request.pull else []
        return [*self._prefix, "--progress", "plain", "build", *pull, self.request.flavour]

    def up(self) -> list[str]:
        """Start the container that shells are opened in."""
        return [*self._prefix, "up", "--detach", "--no-build", self.request.flavour]

    def shell(self) -> list[str]:
        """Open a shell in it."""
        return [*self._prefix, "exec", *_without_terminal(), self.request.flavour, "bash"]

    def run(self, name: str, command: Sequence[str]) -> list[str]:
        """Run one command in a container of its own; no --rm: the exit status is read from what is left of it."""
        ports = ["--service-ports"] if self.request.ports else []
        options = ["--no-deps", *_without_terminal(), *ports, "--name", name]
        return [*self._prefix, "--progress", "quiet", "run", *options, self.request.flavour, *command]

    def down(self) -> list[str]:
        """Remove what was started from this checkout."""
        return [*self._prefix, "down"]

    @contextmanager
    def started(self, command: Sequence[str], **streams: Any) -> Iterator["subprocess.Popen[str]"]:
        """Run the command as a process that does not outlive the block."""
        variables = os.environ | self.variables
        with subprocess.Popen(command, env=variables, text=True, errors="replace", **streams) as process:
            try:
                yield process
            except BaseException:
                process.terminate()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(PATIENCE_S)
                process.kill()
                raise

    def call(self, command: Sequence[str]) -> int:
        """Return the exit status of a command that gets our terminal."""
        with self.started(command) as process:
            return process.wait()

    def do(self, command: Sequence[str]) -> None:
        """Run a command that is heard of only if it fails."""
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        with self.started(command, **pipes) as process:
            said, _ = process.communicate()
        if process.returncode != 0:
            found = said.strip().splitlines()[-1:] or [f"exit status {process.returncode}"]
            raise ContainerError(f"expected the engine to do as asked, found: {found[0]}{what_to_do(said)}")


def variables(request: Request, is_rootless: bool) -> dict[str, str]:
    """Return the variables that compose.yaml reads."""
    uid, gid = (0, 0) if is_rootless else (os.getuid(), os.getgid())
    values: dict[str, str | None] = {
        "RLSCOPE_UID": str(uid),
        "RLSCOPE_GID": str(gid),
        "RLSCOPE_USER": _user_name(),
        "RLSCOPE_BASE_IMAGE": request.base_image,
        "RLSCOPE_GPUS": request.gpus,
        "RLSCOPE_WHEELS": str(request.wheels) if request.wheels else None,
        "RLSCOPE_TORCH_INDEX": os.environ.get("TORCH_INDEX"),
    }
    return {name: value for name, value in values.items() if value is not None}


def override(request: Request, fingerprint: str, as_root: bool) -> str:
    """Return the second compose file: lists, which variables cannot carry, and labels for the image.

    Args:
        request: what is asked for.
        fingerprint: the fingerprint of what the image is built from.
        as_root: whether the container is to start as root, with what GPU counters need.
    """
    labels = {ENVIRONMENT_LABEL: fingerprint, BASE_IMAGE_LABEL: request.base_image or ""}
    service: dict[str, Any] = {"build": {"labels": labels}}
    service |= {name: value for name in ("volumes", "environment", "ports") if (value := getattr(request, name))}
    if as_root:
        service |= {"user": "0:0", "cap_add": COUNTER_CAPABILITIES}
    # JSON is YAML. Compose would take a dollar for a variable of its own.
    return json.dumps({"services": {request.flavour: service}}, indent=2).replace("$", "$$")


def _user_name() -> str:
    """Return the caller's name, if it has one that every program can read."""
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return NAMELESS
    return name if name.isascii() else NAMELESS


def _without_terminal() -> list[str]:
    is_terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    return [] if is_terminal else ["-T"]
