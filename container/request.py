"""This file reads the command line of run_docker.py, option by option."""

import ipaddress
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from container.errors import UsageError


@dataclass(frozen=True)
class Request:
    """This is what the command line asks for.

    Attributes:
        flavour: compose's service, and the tag of its image.
        base_image: in place of the flavour's own, if given.
        gpus: `all` or numbers with commas between, if given.
        counters: whether the container is to read GPU counters.
        volumes: bind mounts, as compose writes them.
        environment: variables for the container.
        ports: ADDRESS:HOST:CONTAINER.
        pull: whether the base image is fetched anew.
        wheels: a folder in which pip looks too, if given.
    """

    flavour: str
    base_image: str | None = None
    gpus: str | None = None
    counters: bool = False
    volumes: Sequence[dict[str, Any]] = ()
    environment: dict[str, str] = field(default_factory=dict)
    ports: Sequence[str] = ()
    pull: bool = False
    wheels: Path | None = None

    @property
    def image(self) -> str:
        """Return the image's name and tag."""
        return f"rlscope:{os.environ.get('RLSCOPE_TAG', self.flavour)}"

    @property
    def changes_container(self) -> bool:
        """Return whether a container that runs already cannot be what is asked for."""
        return bool(self.volumes or self.environment or self.ports or self.gpus or self.counters)


def volume(text: str) -> dict[str, Any]:
    """Return SOURCE:TARGET[:ro] as compose writes it."""
    form = re.fullmatch(r"([^:]+):(/[^:]*?)(?::(ro|rw))?", text)
    if form is None:
        raise UsageError(f"expected --volume SOURCE:/TARGET or SOURCE:/TARGET:ro, found {text}; correct it")
    source = Path(form[1]).expanduser().resolve()
    if not source.exists():
        raise UsageError(f"expected a file or folder to mount with --volume, found none at {source}; make it first")
    options = {"read_only": form[3] == "ro", "bind": {"create_host_path": False}}
    return {"type": "bind", "source": str(source), "target": form[2], **options}


def variable(text: str) -> tuple[str, str]:
    """NAME=VALUE, or NAME with the value that it has here."""
    name, has_value, value = text.partition("=")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise UsageError(f"expected --env NAME=VALUE or NAME, found {text}; correct it")
    if not has_value and name not in os.environ:
        raise UsageError(f"expected a variable {name} here for --env {name}, found none; give --env {name}=VALUE")
    return name, value if has_value else os.environ[name]


def port(text: str) -> str:
    """[ADDRESS:]HOST:CONTAINER, with this machine's own address where none is given."""
    form = re.fullmatch(r"(?:([0-9.]+):)?([0-9]{1,5}):([0-9]{1,5})", text)
    if form is None or not all(0 < int(number) < 65536 for number in form.groups()[1:]) or not _is_address(form[1]):
        raise UsageError(f"expected --publish HOST:CONTAINER or ADDRESS:HOST:CONTAINER, found {text}; correct it")
    return ":".join([form[1] or "127.0.0.1", form[2], form[3]])


def _is_address(text: str | None) -> bool:
    try:
        return text is None or bool(ipaddress.IPv4Address(text).packed)
    except ValueError:
        return False
