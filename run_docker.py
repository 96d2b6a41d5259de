#!/usr/bin/env python3
"""Build, start and enter the container in which every figure can be made.

With no option: checks this host, builds what is missing, starts the container and opens a shell in it. docs/docker.md
goes through it from a bare machine on.
"""

import errno
import io
import os
import re
import shlex
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

try:
    import click
except ImportError:
    print("run_docker.py: error: expected click, found none; pip install -r requirements.deploy.txt", file=sys.stderr)
    sys.exit(2)

from container import host
from container.build import build, environment_hash, why_build
from container.compose import COMPOSE_FILE, Compose, override, variables
from container.engine import Engine, engine_errors, what_to_do
from container.errors import ENGINE_FAILED, ContainerError, RunDockerError, UsageError
from container.project import CHECKOUT, PROJECT
from container.request import Request, port, variable, volume
from container.text import printable

OUTPUT = CHECKOUT / "output"
BUILD_LOG = OUTPUT / "docker" / "build.log"


class Interrupted(BaseException):
    """Ctrl-C, or another request to end."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.status = 128 + number


class Container:
    """The verbs: what can be done with the container of one request."""

    def __init__(self, request: Request, compose: Compose, engine: Engine) -> None:
        self.request = request
        self.compose = compose
        self.engine = engine

    def build(self) -> int:
        """Make the image, and return 0."""
        began = time.monotonic()
        try:
            build(self.compose, BUILD_LOG)
        except ContainerError:
            self.engine.is_rootless()  # an engine that has died says so here
            raise
        self.engine.remove_replaced_images()
        say(f"built {self.request.image} in {time.monotonic() - began:.0f} s")
        return 0

    def build_if_needed(self) -> None:
        """Make the image where there is none that fits."""
        if reason := why_build(self.request, self.engine.image_labels(self.request.image)):
            say(f"building {self.request.image}: {reason}; log: {BUILD_LOG}")
            self.build()

    def shell(self) -> int:
        """Return the exit status of a shell in the container, which is started if none runs."""
        if self._is_running():
            self._join(self.engine.service(self.request.flavour))
        else:
            self.build_if_needed()
            self._start()
        status = self.compose.call(self.compose.shell())
        if self._is_running():
            say("the container runs on: call this again for another shell in it, with --stop to end it")
        return status

    def run(self, command: Sequence[str]) -> int:
        """Return the exit status of a command in a container of its own, of which nothing is left."""
        self.build_if_needed()
        check_ports(self.request.ports)
        self.engine.remove_leftovers()
        name = f"{PROJECT}-run-{os.getpid()}"
        try:
            self.compose.call(self.compose.run(name, command))
            container = self.engine.container(name)
            state = container.attrs["State"] if container else {"Status": "missing", "Error": "see above"}
            if state["Status"] != "exited":
                found = state["Error"] or state["Status"]
                raise ContainerError(f"expected the container to start and end, found: {found}{what_to_do(found)}")
            return int(state["ExitCode"])
        finally:
            self.engine.remove(self.engine.container(name))

    def stop(self) -> None:
        """End it."""
        self.compose.do(self.compose.down())

    def _is_running(self) -> bool:
        container = self.engine.service(self.request.flavour)
        return container is not None and container.status == "running"

    def _start(self) -> None:
        """Start it; if that fails or is interrupted, none is left."""
        check_ports(self.request.ports)
        say("starting the container, which builds what changed in the checkout")
        try:
            self.compose.do(self.compose.up())
            container: Any = self.engine.service(self.request.flavour)
            while not self.engine.is_ready(container):
                container.reload()
                if container.status != "running":
                    click.echo(container.logs(tail=20).decode(errors="replace"), err=True, nl=False)
                    status = container.attrs["State"]["ExitCode"]
                    raise ContainerError(
                        f"expected the container to start, found that it ended with status {status}; correct what it "
                        "says above, and call this again",
                        status or ENGINE_FAILED,
                    )
                time.sleep(0.2)
        except BaseException:
            self.engine.remove(self.engine.service(self.request.flavour))
            raise

    def _join(self, container: Any) -> None:
        """Say that this is another shell in a container that runs already, or why it cannot be."""
        if self.request.changes_container:
            raise UsageError(
                "expected no running container with --volume, --env, --publish, --gpus or --counters, found "
                f"{container.name}; add --reload to start it again with them"
            )
        say(f"{container.name} is running already: this is another shell in it")


def check_ports(ports: Sequence[str]) -> None:
    """Refuse a port that is taken before the engine has made half a container."""
    for published in ports:
        address, number, _ = published.rsplit(":", 2)
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind((address, int(number)))
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    raise UsageError(
                        f"expected a free port after --publish, found {address}:{number} taken; choose another one"
                    ) from None


def prepare_output() -> None:
    """Make output/ before the engine would make it as root."""
    try:
        BUILD_LOG.parent.mkdir(parents=True, exist_ok=True)
        BUILD_LOG.open("a").close()
    except OSError as error:
        raise UsageError(
            f"expected to write to {error.filename}, found: {error.strerror}; make {OUTPUT} yours (sudo chown -R $USER "
            f"{OUTPUT}) or work in a checkout of your own"
        ) from None


def check_user(is_rootless: bool) -> None:
    """Refuse root in a container without capabilities: it is one user among others, whose folders are closed to it."""
    if os.getuid() != 0 or is_rootless:
        return
    owner = OUTPUT.stat().st_uid
    if owner != 0:
        raise UsageError(
            f"expected the owner of {OUTPUT} (uid {owner}), found root; call this without sudo (sudo usermod -aG "
            "docker $USER, then log in again)"
        )
    say("you are root: what the container writes to output/ is root's")


def show_host(request: Request) -> int:
    """Print what was found of this host, and return 2 where something of it must change."""
    checks = host.check_host(request.flavour, request.counters)
    for check in checks:
        mark = {True: "ok  ", False: "FIX ", None: "note"}[check.is_ready]
        click.echo(f"{mark}  {check.name:<10} {check.found}")
        if check.is_ready is not True and check.fix:
            click.echo(f"      {'':<10} {check.fix}")
    return 2 if any(check.is_ready is False for check in checks) else 0


def check_host(request: Request, is_built: bool) -> None:
    """Say what this host lacks."""
    checks = host.check_host(request.flavour, request.counters, is_built)
    wrong = [f"{check.found}; {check.fix}" for check in checks if check.is_ready is False]
    for sentence in wrong[:-1]:
        complain(sentence)
    if wrong:
        raise UsageError(wrong[-1])


def counters_as_root(request: Request, is_rootless: bool) -> bool:
    """Return whether the container starts as root for the sake of GPU counters; a rootless engine's root would not
    do.
    """
    return request.counters and not is_rootless and host.are_counters_restricted()


@contextmanager
def prepared(request: Request, is_needed: bool) -> Iterator[Container]:
    """Yield the container on a host that has been found fit for it.

    Args:
        request: what is asked for.
        is_needed: whether anything is to be built or started, for which the host must be fit.
    """
    prepare_output()
    try:
        with engine_errors():
            engine = Engine()
            labels = engine.image_labels(request.image)
    except ContainerError:
        check_host(request, is_built=False)
        raise
    if is_needed:
        check_host(request, is_built=why_build(request, labels) is None)
    with engine_errors(), tempfile.NamedTemporaryFile("w", prefix="rlscope-compose-", suffix=".json") as file:
        is_rootless = engine.is_rootless()
        if is_needed:
            check_user(is_rootless)
        as_root = counters_as_root(request, is_rootless)
        if as_root:
            say(
                "only root may read GPU counters here: the container starts as root with SYS_ADMIN, and what it writes "
                "to output/ is root's"
            )
        file.write(override(request, environment_hash(), as_root))
        file.flush()
        yield Container(request, Compose(request, file.name, variables(request, is_rootless)), engine)


def plan(action: str, request: Request, command: Sequence[str]) -> str:
    """Return what would be done, for --dry-run: the commands, and the configuration that compose would be given."""
    compose = Compose(request, "OVERRIDE", variables(request, is_rootless=False))
    commands = {
        "build": [compose.build()],
        "run": [compose.build(), compose.run(f"{PROJECT}-run-PID", command)],
        "shell": [compose.build(), compose.up(), compose.shell()],
        "stop": [compose.down()],
        "reload": [compose.down(), compose.build(), compose.up(), compose.shell()],
    }[action]
    known = os.environ | compose.variables
    text = COMPOSE_FILE.read_text(encoding="utf-8")
    resolved = re.sub(r"\$\{(\w+):-([^}]*)\}", lambda found: known.get(found[1]) or found[2], text)
    return "\n".join(
        [
            "# Commands. The image is built only if there is none, or what it is made of has changed.",
            *(shlex.join(words) for words in commands),
            f"\n# {COMPOSE_FILE.relative_to(CHECKOUT)}, with its variables filled in",
            resolved,
            "# OVERRIDE",
            override(request, environment_hash(), counters_as_root(request, is_rootless=False)),
        ]
    )


def request_of(options: dict[str, Any]) -> Request:
    """Return the options of the command line, checked."""
    flavour = options["flavour"] or ("cuda" if host.KERNEL_DRIVER.exists() else "cpu")
    gpus, counters, wheels = options["gpus"], options["counters"], options["wheels"]
    if flavour == "cpu" and (gpus or counters):
        raise UsageError("expected --flavour cuda with --gpus or --counters, found cpu; leave these out or add it")
    if gpus and not re.fullmatch(r"all|\d+(,\d+)*", gpus):
        raise UsageError(f"expected --gpus all or numbers such as 0,1, found {gpus}; `nvidia-smi -L` lists them")
    if wheels and not Path(wheels).is_dir():
        raise UsageError(f"expected a folder of wheels, found none at {wheels}; make it, or leave --wheels out")
    return Request(
        flavour=flavour,
        base_image=options["base_image"],
        gpus=gpus,
        counters=counters,
        volumes=[volume(text) for text in options["volumes"]],
        environment=dict(variable(text) for text in options["variables"]),
        ports=[port(text) for text in options["ports"]],
        pull=options["pull"],
        wheels=Path(wheels).resolve() if wheels else None,
    )


def action_of(options: dict[str, Any], command: Sequence[str]) -> str:
    """Return the one verb that is asked for."""
    chosen = [name for name in ("check", "build", "run", "stop", "reload") if options[name]]
    if len(chosen) > 1:
        raise UsageError(
            f"expected one of --check, --build, --run, --stop and --reload, found --{' --'.join(chosen)}; choose one"
        )
    if bool(command) != (chosen == ["run"]):
        found = f"{command[0]} without --run" if command else "none"
        raise UsageError(f"expected a command after --run, found {found}; as in: --run experiment_algorithm_choice.sh")
    return chosen[0] if chosen else "shell"


@click.command(
    # What follows the first word that is no option belongs to the command in the container.
    context_settings={"help_option_names": ["-h", "--help"], "allow_interspersed_args": False},
    epilog="Example: python run_docker.py --flavour cpu --run experiment_algorithm_choice.sh --budget smoke",
)
@click.option("--check", is_flag=True, help="Show what this host has and lacks for the container, and no more.")
@click.option("--build", is_flag=True, help="Build the image, and no more.")
@click.option("--run", is_flag=True, help="Run COMMAND in a container of its own. The exit status is the command's.")
@click.option("--stop", is_flag=True, help="End the container.")
@click.option("--reload", is_flag=True, help="End it, build what changed, and open a shell in a new one.")
@click.option("--flavour", type=click.Choice(host.FLAVOURS), help="Default: cuda with NVIDIA's driver, else cpu.")
@click.option("--base-image", metavar="NAME", help="Build on this image: Debian 12, Ubuntu 24.04 or the like.")
@click.option("--gpus", metavar="all|0,1", help="The GPUs that the container sees. Default: all.")
@click.option("--counters", is_flag=True, help="Make GPU counters readable; starts as root where the host asks for it.")
@click.option("--volume", "volumes", multiple=True, metavar="SOURCE:TARGET[:ro]", help="Mount a file or folder.")
@click.option("--env", "variables", multiple=True, metavar="NAME[=VALUE]", help="Set a variable in the container.")
@click.option("--publish", "ports", multiple=True, metavar="[ADDRESS:]HOST:CONTAINER", help="Make a port reachable.")
@click.option("--pull", is_flag=True, help="Fetch the base image anew, and build.")
@click.option("--wheels", metavar="DIR", help="A folder of wheels that pip uses besides its index.")
@click.option("--dry-run", is_flag=True, help="Print the commands and the configuration; needs no Docker.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def cli(command: tuple[str, ...], dry_run: bool, **options: Any) -> int:
    """Build, start and enter the container in which every figure can be made.

    Without --check, --build, --run, --stop or --reload: checks this host, builds what is missing, starts the container
    and opens a shell in it. docs/docker.md begins at a bare machine.
    """
    action, request = action_of(options, command), request_of(options)
    if action == "check":
        return show_host(request)
    if dry_run:
        click.echo(plan(action, request, command))
        return 0
    with prepared(request, is_needed=action != "stop") as container:
        if action == "run":
            return container.run(command)
        if action == "build":
            return container.build()
        if action in ("stop", "reload"):
            container.stop()
        return container.shell() if action != "stop" else 0


def say(sentence: str) -> None:
    """Say on stderr how it goes: stdout belongs to the command in the container."""
    click.echo(f"run_docker.py: {printable(sentence)}", err=True)


def complain(sentence: str) -> None:
    """Say in one line what is wrong."""
    say(f"error: {sentence}")


def interrupt(number: int, _frame: object) -> None:
    """End whatever goes on; what is done on the way out is not disturbed a second time."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    raise Interrupted(number)


def main() -> None:
    """Run the command line. An error of the user is status 2, of the system 1, of the engine 125, a signal 128 + n."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name may have characters that the locale lacks
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, interrupt)
    try:
        status = cli.main(prog_name="run_docker.py", standalone_mode=False)
    except RunDockerError as error:
        complain(str(error))
        status = error.status
    except click.ClickException as error:
        complain(" ".join(error.format_message().split()))
        status = 2
    except Interrupted as interrupted:
        say("interrupted; nothing of it is left running")
        status = interrupted.status
    except OSError as error:
        refused = f"{error.filename or 'the output'}: {error.strerror or error}"
        complain(f"{refused}; make that possible, or choose another place")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else Python writes the output again as it ends, and fails again
        status = 1
    sys.exit(status)


if __name__ == "__main__":
    main()
