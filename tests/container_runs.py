"""Runs run_docker.py as a user does: in a checkout of a caller without rights, with the Python of a bare host."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from container.host import FLAVOURS
from container.project import project_of

ROOT = Path(__file__).resolve().parents[1]
PYTHON = ROOT / ".venvs" / "deploy" / "bin" / "python"
#: Whom root plays: a uid that has no name here.
CALLER = 1234 if os.getuid() == 0 else os.getuid()
CALL_S = 240
#: What building takes, with the wheels of the lock over a slow line.
BUILD_S = 1200


@dataclass(frozen=True)
class Checkout:
    """A copy of this checkout that belongs to the caller."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def output(self) -> Path:
        return self.folder / "output"

    @property
    def project(self) -> str:
        """Compose's name for what is made from it."""
        return project_of(self.folder, CALLER)

    @property
    def container(self) -> str:
        """The name of the one that shells are opened in, of the flavour cpu."""
        return f"{self.project}-cpu-1"

    def command(self, *arguments: str, script: str = "run_docker.py") -> list[str]:
        return [*_as_caller(), str(PYTHON), str(self.folder / script), *arguments]

    def variables(self) -> dict[str, str]:
        return os.environ | _home(self.folder.parent) | self.environment

    def call(
        self, *arguments: str, text: str = "", timeout: float = CALL_S, script: str = "run_docker.py"
    ) -> "subprocess.CompletedProcess[str]":
        """Runs it to its end; `text` is its standard input."""
        return subprocess.run(
            self.command(*arguments, script=script),
            env=self.variables(),
            input=text,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def begin(self, *arguments: str, **streams: int) -> "subprocess.Popen[str]":
        """Starts it as a terminal does: in a process group of its own, to which a Ctrl-C goes."""
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        command = self.command(*arguments)
        return subprocess.Popen(command, env=self.variables(), text=True, start_new_session=True, **(pipes | streams))

    def dockerfile(self, *steps: str, entrypoint: str = "touch /home/rlscope/.ready") -> None:
        """Replaces what the image is built from by next to nothing and these steps."""
        folders = "mkdir -p /rlscope/output /rlscope/.venvs /checkout /home/rlscope && chmod 777 /home/rlscope"
        shell = ["/bin/sh", "-c", f'{entrypoint}; exec "$@"', "entrypoint"]
        stages = ["ARG BASE_IMAGE", "FROM scratch AS wheels", "FROM ${BASE_IMAGE}", "WORKDIR /rlscope"]
        text = "\n".join([*stages, f"RUN {folders}", *steps, f"ENTRYPOINT {json.dumps(shell)}", ""])
        (self.folder / "dockerfiles" / "Dockerfile").write_text(text)


def copy_checkout(target: Path, *parts: str) -> None:
    """Copies what git has or would take, all of it or these parts, and gives it to the caller."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *parts]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (source := ROOT / name).exists():  # what was deleted is still listed until that is committed
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name, follow_symlinks=False)
    target.parent.chmod(0o755)
    for path in (target, *target.rglob("*")):
        os.chown(path, CALLER, -1, follow_symlinks=False)


def remove_project(checkout: Checkout) -> None:
    """Removes what is left of a checkout that goes: its network and its volumes."""
    network, volumes = f"{checkout.project}_default", [f"{checkout.project}_venvs-{flavour}" for flavour in FLAVOURS]
    for command in (["network", "rm", network], ["volume", "rm", "--force", *volumes]):
        subprocess.run(["docker", *command], capture_output=True, check=False)


def docker(*arguments: str) -> str:
    """What the engine's own command prints."""
    return subprocess.run(["docker", *arguments], capture_output=True, text=True, check=True).stdout


def containers() -> list[str]:
    """The names of all containers of this project, whatever their state."""
    return docker("ps", "--all", "--filter", "name=rlscope", "--format", "{{.Names}}").split()


def base_and_wheels() -> list[str]:
    """The options with which an image is built where no registry is reached."""
    options = {"--base-image": "RLSCOPE_TEST_BASE_IMAGE", "--wheels": "RLSCOPE_TEST_WHEELS"}
    return [word for option, name in options.items() if name in os.environ for word in (option, os.environ[name])]


def _home(folder: Path) -> dict[str, str]:
    """Whom root plays has a home: the `docker` command writes there, and finds its plugins as root does."""
    if os.getuid() == CALLER:
        return {}
    config = folder / ".docker"
    if not config.exists():
        config.mkdir()
        plugins = Path(os.environ.get("DOCKER_CONFIG", Path.home() / ".docker"), "cli-plugins")
        (config / "cli-plugins").symlink_to(plugins)
        os.chown(config, CALLER, -1)
    return {"HOME": str(folder), "DOCKER_CONFIG": str(config)}


def _as_caller() -> list[str]:
    """Root becomes a user of the engine's group, who may read where only root may: this Python may lie there."""
    if os.getuid() == CALLER:
        return []
    socket = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")
    ids = [f"--reuid={CALLER}", f"--regid={CALLER}", f"--groups={os.stat(socket).st_gid}"]
    return ["setpriv", *ids, "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
