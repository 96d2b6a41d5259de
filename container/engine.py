"""This file asks the container engine for images, containers and their states, through Docker's own package."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from container.errors import ContainerError, UsageError
from container.host import engine_address, is_rootless
from container.project import PROJECT

#: On every image built here: what it was built from.
ENVIRONMENT_LABEL = "rlscope.environment"
BASE_IMAGE_LABEL = "rlscope.base_image"
#: The entrypoint leaves it in the container when it is through.
READY = "/home/rlscope/.ready"
#: What engines, builders and installers of packages say, and what to do about it.
KNOWN_FAULTS = (
    (r"port is already allocated|address already in use", "choose another port with --publish"),
    (r"could not select device driver", "set up NVIDIA's container toolkit: docs/docker.md"),
    (r"buildx/\S+: permission denied", "make it yours, which `sudo docker` made root's: sudo chown -R $USER ~/.docker"),
    (r"[Nn]o space left on device", "free some space: `docker system df` shows what takes it"),
    (
        r"no such host|[Rr]esolv|name resolution|[Nn]etwork is unreachable|i/o timeout|[Cc]onnection refused|timed out",
        "look whether this machine reaches the package servers and the image registry, or name another --base-image",
    ),
)


def what_to_do(said: str) -> str:
    """Return a hint to append to a message; empty where the fault is not known."""
    return next((f"; {fix}" for pattern, fix in KNOWN_FAULTS if re.search(pattern, said)), "")


@contextmanager
def engine_errors() -> Iterator[None]:
    """Raise what the engine refuses, and that it has gone, as one sentence."""
    try:
        import docker
        import requests
    except ImportError as error:
        raise UsageError(
            f"expected the packages of requirements.deploy.txt, found no {error.name}; "
            "pip install -r requirements.deploy.txt"
        ) from None
    try:
        yield
    except docker.errors.APIError as error:
        raise ContainerError(f"expected the engine to do as asked, found: {error.explanation}") from error
    except (docker.errors.DockerException, requests.exceptions.RequestException) as error:
        raise ContainerError(
            f"expected the engine at {engine_address()} to answer, found no answer any more; start it (sudo systemctl "
            "start docker) and call this again: it removes what was left"
        ) from error


class Engine:
    """The engine that the `docker` command talks to. All methods may raise what engine_errors translates."""

    def __init__(self) -> None:
        import docker

        self._errors = docker.errors
        self._client = docker.from_env(environment=os.environ | {"DOCKER_HOST": engine_address()})

    def is_rootless(self) -> bool:
        """Return whether user 0 of a container is the one who runs the engine."""
        return is_rootless(self._client.info())

    def image_labels(self, image: str) -> dict[str, str] | None:
        """Return None where there is no such image."""
        try:
            return dict(self._client.images.get(image).labels)
        except self._errors.ImageNotFound:
            return None

    def remove_replaced_images(self) -> None:
        """Remove the images whose name a newer build took."""
        self._client.images.prune({"dangling": True, "label": ENVIRONMENT_LABEL})

    def container(self, name: str) -> Any | None:
        """Return a container by its name."""
        try:
            return self._client.containers.get(name)
        except self._errors.NotFound:
            return None

    def service(self, name: str) -> Any | None:
        """Return the container that shells are opened in, whatever its state."""
        labels = {"project": PROJECT, "service": name, "oneoff": "False"}
        chosen = [f"com.docker.compose.{label}={value}" for label, value in labels.items()]
        return next(iter(self._list({"label": chosen})), None)

    def is_ready(self, container: Any) -> bool:
        """Return whether its entrypoint is through."""
        try:
            return bool(container.exec_run(["test", "-e", READY]).exit_code == 0)
        except self._errors.APIError:
            return False  # it has ended meanwhile

    def remove(self, container: Any | None) -> None:
        """Remove it, whether it runs or not."""
        if container is not None:
            with suppress(self._errors.NotFound):
                container.remove(force=True)

    def remove_leftovers(self) -> None:
        """Remove containers of single commands whose run_docker.py was killed or lost the engine."""
        for container in self._list({"name": f"^/?{PROJECT}-run-[0-9]+$"}):
            if not Path("/proc", container.name.rpartition("-")[2]).exists():
                self.remove(container)

    def _list(self, filters: dict[str, Any]) -> list[Any]:
        return list(self._client.containers.list(all=True, filters=filters, ignore_removed=True))
