"""The checks of a host for the container, each on a host that is really broken: commands and sockets of our own."""

import contextlib
import grp
import json
import os
import pwd
import shlex
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

import run_docker
from container import host as container_host
from container.host import Check, check_host, engine_address, is_rootless

NOBODY = 65534
#: A file system on which nothing is ever free.
FULL = "/proc"
INFO = {
    "ServerVersion": "26.1.5+dfsg1",
    "OSType": "linux",
    "Architecture": "x86_64",
    "Name": socket.gethostname(),
    "DockerRootDir": "/",
    "DriverStatus": [["Backing Filesystem", "extfs"]],
    "SecurityOptions": ["name=seccomp,profile=builtin"],
    "Runtimes": {"runc": {"path": "runc"}},
}
ROOTLESS = ["name=seccomp,profile=builtin", "name=rootless"]


def say(text: str) -> str:
    return f"printf '%s\\n' {shlex.quote(text)}"


def fail(text: str) -> str:
    return f"{say(text)} >&2; exit 1"


class Host:
    """A host whose only commands are the scripts that a test puts there, and the socket of its engine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "docker.sock"

    def command(self, name: str, answers: dict[str, str]) -> None:
        """A command that does what is said for its first arguments."""
        cases = "\n".join(f"{shlex.quote(arguments)}*) {does} ;;" for arguments, does in answers.items())
        script = self.folder / name
        script.write_text(f'#!/bin/sh\ncase "$*" in\n{cases}\n*) {fail("unknown command")} ;;\nesac\n')
        script.chmod(0o755)

    def docker(self, answers: dict[str, str] | None = None, **info: Any) -> None:
        """Docker's command as it is on a healthy host, with some other answers or another description of the engine."""
        healthy = {
            "--version": say("Docker version 26.1.5+dfsg1, build a72d7cd"),
            "info --format": say(json.dumps(INFO | info)),
            "compose version --short": say("2.26.1-4"),
        }
        self.command("docker", healthy | (answers or {}))

    def docker_without_engine(self, complaint: str = "Cannot connect to the Docker daemon") -> None:
        self.docker({"info --format": fail(complaint)})


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Host]:
    """An empty host with room for images and without a GPU."""
    with tempfile.TemporaryDirectory(prefix="host-") as folder:  # short, as sockets need; others may enter it
        os.chmod(folder, 0o755)
        host = Host(Path(folder))
        monkeypatch.setenv("PATH", folder)
        monkeypatch.setenv("DOCKER_HOST", f"unix://{host.socket}")
        monkeypatch.setattr(container_host, "ROOM_GB", {"cpu": 0, "cuda": 0})
        monkeypatch.setattr(container_host, "CONTAINERD_ROOT", tmp_path / "containerd")
        monkeypatch.setattr(container_host, "KERNEL_DRIVER", tmp_path / "version")
        monkeypatch.setattr(container_host, "DRIVER_PARAMETERS", tmp_path / "params")
        yield host


@pytest.fixture
def driver(host: Host) -> None:
    """A GPU with a driver as it comes."""
    container_host.KERNEL_DRIVER.write_text(
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (dvs-builder@host)  Tue\n"
        "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n"
    )
    container_host.DRIVER_PARAMETERS.write_text("ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n")


def the(name: str, checks: list[Check]) -> Check:
    (check,) = [check for check in checks if check.name == name]
    return check


def names(checks: list[Check]) -> list[str]:
    return [check.name for check in checks]


def test_a_healthy_host_needs_nothing(host: Host) -> None:
    host.docker()
    checks = check_host("cpu")
    assert names(checks) == ["engine", "compose", "storage"]
    assert all(check.is_ready for check in checks)
    assert f"Docker Engine 26.1.5+dfsg1 at unix://{host.socket}" == checks[0].found


def test_docker_is_not_installed(host: Host) -> None:
    (check,) = check_host("cpu")
    assert (check.name, check.is_ready) == ("engine", False)
    assert check.found == "expected Docker's command `docker` on PATH, found none"
    assert "https://docs.docker.com/engine/install" in check.fix


def test_podman_only(host: Host) -> None:
    host.command("podman", {"--version": say("podman version 4.3.1")})
    (check,) = check_host("cpu")
    assert "found none; Podman is there, but this was made for Docker" in check.found
    assert "export DOCKER_HOST=unix://$XDG_RUNTIME_DIR/podman/podman.sock" in check.fix


def test_podman_under_dockers_name(host: Host) -> None:
    podman = {"--version": say("podman version 4.3.1"), "info --format": say(json.dumps({"host": {"arch": "amd64"}}))}
    host.command("podman", podman)
    host.command("docker", podman)
    (check,) = check_host("cpu")
    assert check.is_ready is False
    assert "found Podman's of that name" in check.found


def test_podman_behind_dockers_command_is_tried(host: Host) -> None:
    host.docker({"version --format": say('{"Components": [{"Name": "Podman Engine"}]}')}, ServerVersion="4.3.1")
    check = the("engine", check_host("cpu"))
    assert check.is_ready is None
    assert check.found.startswith("Podman 4.3.1 at unix://")


def test_the_engines_socket_was_removed(host: Host) -> None:
    host.docker_without_engine()
    with socket.socket(socket.AF_UNIX) as engine:
        engine.bind(str(host.socket))
    host.socket.unlink()
    checks = check_host("cpu")
    assert names(checks) == ["engine", "compose"]
    assert checks[0].found == f"expected a running engine at unix://{host.socket}, found no such socket"
    assert checks[0].fix.startswith("start it: sudo systemctl start docker;")


def test_nobody_listens_on_the_engines_socket(host: Host) -> None:
    host.docker_without_engine()
    with socket.socket(socket.AF_UNIX) as engine:
        engine.bind(str(host.socket))
    check = the("engine", check_host("cpu"))
    assert check.found.endswith("found a socket on which nobody listens")
    assert "sudo systemctl start docker" in check.fix


def test_the_engine_of_a_user_is_started_by_the_user(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///run/user/4294967294/docker.sock")
    host.docker_without_engine()
    assert the("engine", check_host("cpu")).fix.startswith("start it: systemctl --user start docker;")


def become_nobody() -> None:
    # Who may not do this has no right to pass permissions either.
    with contextlib.suppress(OSError):
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def check_as_nobody() -> Check:
    with ProcessPoolExecutor(1, mp_context=get_context("fork"), initializer=become_nobody) as pool:
        return the("engine", pool.submit(check_host, "cpu").result())


@pytest.fixture
def forbidden(host: Host) -> Iterator[Host]:
    """An engine that listens, on a socket that is not for everybody."""
    host.docker_without_engine("permission denied while trying to connect to the Docker daemon socket")
    with socket.socket(socket.AF_UNIX) as engine:
        engine.bind(str(host.socket))
        engine.listen()
        host.socket.chmod(0)
        yield host


def test_the_engines_socket_is_not_for_this_user(forbidden: Host) -> None:
    check = check_as_nobody()
    assert check.found == f"expected a running engine at unix://{forbidden.socket}, found one that you may not use"
    assert check.fix.startswith("sudo usermod -aG docker $USER, then log in again")


def test_a_user_who_was_just_allowed_logs_in_again(forbidden: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: SimpleNamespace(pw_name="ann"))
    monkeypatch.setattr(grp, "getgrnam", lambda name: SimpleNamespace(gr_mem=["ann"]))
    assert check_as_nobody().fix.startswith("log in again: you are in the group docker")


def test_the_engine_of_another_user(forbidden: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container_host, "USERS_OWN", str(forbidden.folder))
    assert check_as_nobody().fix.startswith("it is another user's: unset DOCKER_HOST")


@pytest.fixture
def silent_engine(host: Host) -> Iterator[Host]:
    """An engine that takes connections and says nothing."""
    with socket.socket(socket.AF_UNIX) as engine:
        engine.bind(str(host.socket))
        engine.listen()
        yield host


def test_an_engine_that_hangs(silent_engine: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container_host, "PATIENCE_S", 1)
    silent_engine.docker({"info --format": "exec /bin/sleep 60"})
    check = the("engine", check_host("cpu"))
    assert check.found.endswith("found none that answers: no answer within 1 s")
    assert "sudo systemctl restart docker" in check.fix


def test_what_docker_itself_complains_about_is_told(silent_engine: Host) -> None:
    silent_engine.docker_without_engine("Error response from daemon: client version 1.41 is too old")
    check = the("engine", check_host("cpu"))
    assert check.found.endswith("found none that answers: Error response from daemon: client version 1.41 is too old")


def test_a_context_that_does_not_exist(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST")
    complaint = 'Failed to initialize: unable to resolve docker endpoint: context "nope": context not found'
    host.docker_without_engine(complaint)
    check = the("engine", check_host("cpu"))
    assert check.found.endswith(f"found none that answers: {complaint}")
    assert "docker context ls" in check.fix


def test_an_engine_elsewhere_that_does_not_answer(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://192.0.2.1:2375")
    host.docker_without_engine("Cannot connect to the Docker daemon at tcp://192.0.2.1:2375")
    check = the("engine", check_host("cpu"))
    assert check.is_ready is False
    assert check.found.startswith("expected a running engine at tcp://192.0.2.1:2375, found none that answers: Cannot")


@pytest.mark.parametrize("answer", ["printf ''", say('{"ServerVersion": "", "Runtimes": null}'), say("not JSON")])
def test_docker_info_that_knows_no_engine_and_yet_succeeds(host: Host, answer: str) -> None:
    host.docker({"info --format": answer})
    assert container_host._ask_engine().info == {}
    assert the("engine", check_host("cpu")).is_ready is False


def test_the_address_is_the_current_contexts(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    assert engine_address() == f"unix://{host.socket}"
    monkeypatch.delenv("DOCKER_HOST")
    assert engine_address() == "unix:///var/run/docker.sock"
    host.docker({"context inspect": say("unix:///run/user/1000/docker.sock")})
    assert engine_address() == "unix:///run/user/1000/docker.sock"
    host.docker({"context inspect": "echo; " + fail('context "nope": context not found')})
    assert engine_address() == "unix:///var/run/docker.sock"


def test_an_engine_that_is_too_old(host: Host) -> None:
    host.docker({"version --format": say('{"Components": [{"Name": "Engine"}]}')}, ServerVersion="20.10.24+dfsg1")
    check = the("engine", check_host("cpu"))
    assert check.is_ready is False
    assert check.found.startswith("expected Docker Engine 23 or newer, found 20.10.24+dfsg1 at ")


def test_an_engine_on_another_processor(host: Host) -> None:
    host.docker(Architecture="aarch64")
    check = the("engine", check_host("cpu"))
    assert check.is_ready is False
    assert "found linux aarch64" in check.found


def test_a_rootless_engine_is_told(host: Host) -> None:
    assert not is_rootless(INFO)
    assert not is_rootless({"SecurityOptions": None})
    host.docker(SecurityOptions=ROOTLESS)
    assert is_rootless(container_host._ask_engine().info)
    check = the("rootless", check_host("cpu"))
    assert check.is_ready is None


def test_compose_is_not_installed(host: Host) -> None:
    host.docker({"compose version --short": fail("docker: 'compose' is not a docker command.")})
    check = the("compose", check_host("cpu"))
    assert check.is_ready is False
    assert check.found == "expected Docker Compose 2.19 or newer as `docker compose`, found none"
    assert "docker-compose-plugin" in check.fix


def test_compose_of_the_first_generation_is_another_program(host: Host) -> None:
    host.docker({"compose version --short": fail("docker: unknown command: docker compose")})
    host.command("docker-compose", {"version --short": say("1.29.2")})
    assert the("compose", check_host("cpu")).found.endswith("found only docker-compose 1.29.2")


@pytest.mark.parametrize(
    ("version", "is_ready"),
    [
        ("2.12.2", False),
        ("v2.18.1", False),
        ("v2.19.0", True),
        ("2.39.1-desktop.1", True),
        ("v2.9.0", False),
        ("dev", False),
    ],
)
def test_compose_must_know_named_build_contexts(host: Host, version: str, is_ready: bool) -> None:
    host.docker({"compose version --short": say(version)})
    check = the("compose", check_host("cpu"))
    assert check.is_ready is is_ready
    assert check.found.endswith(version.removeprefix("v"))


@pytest.mark.parametrize(
    ("buildx", "found"),
    [
        (fail("docker: 'buildx' is not a docker command."), "found none"),
        (say("github.com/docker/buildx 0.13.1+ds1 0.13.1+ds1-3"), "found 0.13.1+ds1"),
        (say("github.com/docker/buildx v0.29.1 a32761aeb3debd39be1eca514af3693af0db334b"), ""),
    ],
)
def test_a_newer_compose_builds_with_buildx(host: Host, buildx: str, found: str) -> None:
    host.docker({"compose version --short": say("v5.0.1"), "buildx version": buildx})
    checks = check_host("cpu")
    assert the("compose", checks).is_ready
    assert ("buildx" in names(checks)) is bool(found)
    if found:
        check = the("buildx", checks)
        assert check.is_ready is False
        assert check.found == f"Docker Compose 5.0.1 expects buildx 0.17 or newer, {found}"


@pytest.mark.parametrize(("flavour", "is_built", "room"), [("cpu", False, 8), ("cuda", False, 25), ("cuda", True, 1)])
def test_a_full_disk(host: Host, monkeypatch: pytest.MonkeyPatch, flavour: str, is_built: bool, room: int) -> None:
    monkeypatch.setattr(container_host, "ROOM_GB", {"cpu": 8, "cuda": 25})
    host.docker(DockerRootDir=FULL)
    check = the("storage", check_host(flavour, is_built=is_built))
    assert check.is_ready is False
    assert check.found == f"expected {room} GB free in {FULL}, found 0.0 GB"
    assert "docker system df" in check.fix


def test_images_may_be_kept_by_containerd(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container_host, "ROOM_GB", {"cpu": 8})
    kept_by_containerd = [["driver-type", "io.containerd.snapshotter.v1"]]
    host.docker(DriverStatus=kept_by_containerd, DockerRootDir=FULL)
    assert FULL in the("storage", check_host("cpu")).found
    container_host.CONTAINERD_ROOT.mkdir()
    host.docker(DriverStatus=kept_by_containerd, DockerRootDir="/")
    assert str(container_host.CONTAINERD_ROOT) in the("storage", check_host("cpu")).found


@pytest.mark.parametrize("info", [{"Name": "elsewhere"}, {"DockerRootDir": "/no/such/folder"}])
def test_a_disk_that_cannot_be_seen(host: Host, info: dict[str, str]) -> None:
    host.docker(None, **info)
    check = the("storage", check_host("cpu"))
    assert check.is_ready is None
    assert "cannot be looked at from here" in check.found


def test_a_gpu_host_that_is_ready(host: Host, driver: None) -> None:
    host.docker(Runtimes={"runc": {}, "nvidia": {"path": "nvidia-container-runtime"}})
    checks = check_host("cuda")
    assert names(checks) == ["engine", "compose", "storage", "nvidia", "toolkit"]
    assert all(check.is_ready for check in checks)
    assert the("nvidia", checks).found == "driver 580.95.05"


def test_there_is_no_gpu(host: Host) -> None:
    checks = check_host("cuda")
    assert names(checks) == ["engine", "nvidia"], "both are told at once"
    check = the("nvidia", checks)
    assert check.is_ready is False
    assert check.found == "expected NVIDIA's driver 580.65 or newer for the image's CUDA 13, found none"
    assert "--flavour cpu" in check.fix


@pytest.mark.parametrize(
    ("line", "is_ready", "version"),
    [
        (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023",
            False,
            "535.129.03",
        ),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 07:09:20 UTC 2025", True, "580.65.06"),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.9.1  Release Build", False, "580.9.1"),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  610.43  Release Build", True, "610.43"),
        ("NVRM version: something new", None, "does not tell"),
    ],
)
def test_the_driver_must_know_cuda_13(host: Host, line: str, is_ready: bool | None, version: str) -> None:
    host.docker()
    container_host.KERNEL_DRIVER.write_text(line + "\nGCC version:  gcc version 13.3.0\n")
    check = the("nvidia", check_host("cuda"))
    assert check.is_ready is is_ready
    assert version in check.found


def test_the_driver_of_another_machine_is_not_this_ones(host: Host, driver: None) -> None:
    host.docker(Name="elsewhere", Runtimes={"nvidia": {}})
    checks = check_host("cuda", needs_counters=True)
    assert the("nvidia", checks).is_ready is None
    assert the("toolkit", checks).is_ready
    assert "counters" not in names(checks)


def test_nvidias_container_runtime_is_not_installed(host: Host, driver: None) -> None:
    host.docker()
    check = the("toolkit", check_host("cuda"))
    assert check.is_ready is False
    assert "install the package nvidia-container-toolkit" in check.fix
    assert "sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart docker" in check.fix


def test_nvidias_container_runtime_of_a_rootless_engine(host: Host, driver: None) -> None:
    host.docker(SecurityOptions=ROOTLESS)
    fix = the("toolkit", check_host("cuda")).fix
    assert "--config=$HOME/.config/docker/daemon.json" in fix
    assert "systemctl --user restart docker" in fix


def test_nvidias_container_runtime_may_come_in_other_ways(host: Host, driver: None) -> None:
    host.docker()
    host.command("nvidia-ctk", {})
    check = the("toolkit", check_host("cuda"))
    assert check.is_ready is None
    assert check.fix.startswith("sudo nvidia-ctk runtime configure")
    host.command("nvidia-container-runtime-hook", {})
    assert the("toolkit", check_host("cuda")).is_ready
    (host.folder / "nvidia-container-runtime-hook").unlink()
    host.docker(DiscoveredDevices=[{"Source": "cdi", "ID": "nvidia.com/gpu=0"}])
    assert the("toolkit", check_host("cuda")).is_ready


@pytest.mark.parametrize(("info", "is_ready"), [({}, None), ({"SecurityOptions": ROOTLESS}, False)])
def test_gpu_counters_that_only_root_may_read(
    host: Host, driver: None, info: dict[str, Any], is_ready: bool | None
) -> None:
    host.docker(**info)
    assert "counters" not in names(check_host("cuda"))
    check = the("counters", check_host("cuda", needs_counters=True))
    assert check.is_ready is is_ready
    assert "RmProfilingAdminOnly: 1" in check.found
    assert "NVreg_RestrictProfilingToAdminUsers=0" in check.fix
    assert "restart the machine" in check.fix


def test_gpu_counters_that_everybody_may_read(host: Host, driver: None) -> None:
    host.docker(SecurityOptions=ROOTLESS)
    container_host.DRIVER_PARAMETERS.write_text("RmProfilingAdminOnly: 0\n")
    assert the("counters", check_host("cuda", needs_counters=True)).is_ready


def test_run_docker_shows_what_it_finds(host: Host) -> None:
    result = CliRunner().invoke(run_docker.cli, ["--flavour", "cpu", "--check"], standalone_mode=False)
    assert (result.exception, result.return_value) == (None, 2)
    assert result.output.startswith("FIX   engine     expected Docker's command `docker` on PATH, found none\n")
    assert container_host.INSTALL_ENGINE in result.output
    host.docker(DockerRootDir="/no/such/folder")
    result = CliRunner().invoke(run_docker.cli, ["--flavour", "cpu", "--check"], standalone_mode=False)
    assert (result.exception, result.return_value) == (None, 0)
    assert [line[:10] for line in result.output.splitlines()[:3]] == ["ok    engi", "ok    comp", "note  stor"]


def test_a_host_without_the_package_can_be_checked(host: Host) -> None:
    """A bare host has click and docker, and nobody has compiled rlscope there."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); before = set(sys.modules); import run_docker; "
        "loaded = {name.split('.')[0] for name in set(sys.modules) - before}; "
        "print(*sorted(loaded - sys.stdlib_module_names), run_docker.host.check_host('cpu')[0].name)"
    )
    checkout = str(Path(run_docker.__file__).parent)
    finished = subprocess.run([sys.executable, "-c", code, checkout], capture_output=True, text=True, check=True)
    assert finished.stdout.split() == ["click", "container", "run_docker", "engine"]
