"""Can the container be built and run on this host? Each check says what was found, and what to do where it cannot."""

import grp
import json
import os
import pwd
import re
import shutil
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FLAVOURS = ("cpu", "cuda")
#: What building an image takes, with the layers of its build.
ROOM_GB = {"cpu": 8, "cuda": 25}
#: What compiling a changed package into an image that is there takes.
ROOM_TO_REBUILD_GB = 1

#: The first engine whose own builder takes named build contexts.
OLDEST_ENGINE = (23, 0)
#: The first whose commands all take --progress; since 2.17 named build contexts are passed on.
OLDEST_COMPOSE = (2, 19)
#: From this version on Compose does not build by itself: "compose build requires buildx 0.17.0 or later".
FIRST_COMPOSE_WITH_BUILDX = (2, 40)
OLDEST_BUILDX = (0, 17)
#: The oldest driver for CUDA 13, which the cuda image holds.
OLDEST_DRIVER = (580, 65)

#: The kernel's part of NVIDIA's driver: it can be seen in containers that have no libcuda.
KERNEL_DRIVER = Path("/proc/driver/nvidia/version")
DRIVER_PARAMETERS = Path("/proc/driver/nvidia/params")
COUNTERS_FOR_ROOT_ONLY = "RmProfilingAdminOnly: 1"

USUAL_SOCKET = "unix:///var/run/docker.sock"
#: Where the sockets of engines that run as a user are.
USERS_OWN = "/run/user/"
#: Where images are kept since Docker Engine 29, where containerd is a service of its own.
CONTAINERD_ROOT = Path("/var/lib/containerd")
CONTAINERD_IMAGES = ["driver-type", "io.containerd.snapshotter.v1"]
PATIENCE_S = 30

INSTALL_ENGINE = "install Docker Engine 23 or newer with its compose plugin: https://docs.docker.com/engine/install"
TRY_PODMAN = (
    f"{INSTALL_ENGINE}; or only its commands docker and docker compose, with Podman as their engine: "
    "systemctl --user start podman.socket && export DOCKER_HOST=unix://$XDG_RUNTIME_DIR/podman/podman.sock"
)
INSTALL_COMPOSE = (
    "install the package docker-compose-plugin (Ubuntu's own: docker-compose-v2): "
    "https://docs.docker.com/compose/install/linux"
)
INSTALL_BUILDX = "install the package docker-buildx-plugin (Debian's and Ubuntu's own: docker-buildx)"
MAKE_ROOM = (
    "`docker system df` shows what takes room, `docker builder prune` frees what only makes builds faster; or move the "
    'engine\'s data: "data-root" in /etc/docker/daemon.json'
)
INSTALL_DRIVER = (
    "install it and restart the machine: https://docs.nvidia.com/datacenter/tesla/driver-installation-guide; "
    "without a GPU: --flavour cpu"
)
INSTALL_TOOLKIT = (
    "install the package nvidia-container-toolkit: "
    "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html, then "
)
CONFIGURE_TOOLKIT = "sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart docker"
CONFIGURE_TOOLKIT_ROOTLESS = (
    "nvidia-ctk runtime configure --runtime=docker --config=$HOME/.config/docker/daemon.json && "
    "sudo nvidia-ctk config --set nvidia-container-cli.no-cgroups --in-place && systemctl --user restart docker"
)
FREE_COUNTERS = (
    "echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' | sudo tee /etc/modprobe.d/nvidia-counters.conf && "
    "sudo update-initramfs -u, then restart the machine"
)


@dataclass(frozen=True)
class Check:
    """One thing that building and running the container needs of this host.

    Attributes:
        name: What was looked at.
        is_ready: Whether it is as the container needs it; None where that cannot be told, or need not be.
        found: What was found.
        fix: What to do if it is not ready.
    """

    name: str
    is_ready: bool | None
    found: str
    fix: str = ""


@dataclass(frozen=True)
class Engine:
    """The container engine that the `docker` command talks to.

    Attributes:
        address: Where it listens.
        info: What `docker info` tells of it, empty where it does not answer.
        complaint: What `docker info` says instead.
    """

    address: str
    info: dict[str, Any]
    complaint: str

    @property
    def is_here(self) -> bool:
        """Return whether it uses this machine's folders and devices; one that does not answer is taken for one
        that does.
        """
        return bool(self.info.get("Name", socket.gethostname()) == socket.gethostname())


def check_host(flavour: str, needs_counters: bool = False, is_built: bool = False) -> list[Check]:
    """Return everything that building and running the container needs of this host.

    Args:
        flavour: one of FLAVOURS.
        needs_counters: the container is to read GPU counters.
        is_built: the image is there, so that little room is enough.
    """
    engine = _ask_engine()
    checks = _missing_command() or [*_check_engine(engine), *_check_compose()]
    if engine.info:
        checks.append(_check_storage(engine, ROOM_TO_REBUILD_GB if is_built else ROOM_GB[flavour]))
    if flavour == "cuda":
        checks += _check_gpu(engine, needs_counters)
    return checks


def engine_address() -> str:
    """Return where the `docker` command finds its engine: DOCKER_HOST, else as its current context says."""
    if address := os.environ.get("DOCKER_HOST"):
        return address
    return _run("docker", "context", "inspect", "--format", "{{.Endpoints.docker.Host}}").stdout.strip() or USUAL_SOCKET


def is_rootless(info: dict[str, Any]) -> bool:
    """Return whether the engine runs as a user: its containers' user 0 is then that user."""
    return any(option.startswith("name=rootless") for option in info.get("SecurityOptions") or ())


def are_counters_restricted() -> bool:
    """Return whether NVIDIA's driver lets only root read GPU counters, as it does unless told otherwise."""
    return DRIVER_PARAMETERS.exists() and COUNTERS_FOR_ROOT_ONLY in DRIVER_PARAMETERS.read_text()


def _ask_engine() -> Engine:
    finished = _run("docker", "info", "--format", "{{json .}}")
    try:
        info = json.loads(finished.stdout)
    except ValueError:
        info = {}
    complaints = finished.stderr.strip().splitlines()
    # Without an engine, some versions print what they know of themselves, and some end with status 0.
    return Engine(engine_address(), info if info.get("ServerVersion") else {}, complaints[-1] if complaints else "")


def _missing_command() -> list[Check]:
    if shutil.which("docker") is None:
        found = "none"
    elif _run("docker", "--version").stdout.startswith("podman"):
        found = "Podman's of that name"
    else:
        return []
    found = f"expected Docker's command `docker` on PATH, found {found}"
    if shutil.which("podman") is None:
        return [Check("engine", False, found, INSTALL_ENGINE)]
    return [Check("engine", False, f"{found}; Podman is there, but this was made for Docker", TRY_PODMAN)]


def _check_engine(engine: Engine) -> list[Check]:
    if not engine.info:
        return [_why_no_answer(engine)]
    if not is_rootless(engine.info):
        return [_check_version(engine)]
    found = "the engine runs as you: user 0 of the container is you, and has no more rights than you"
    return [_check_version(engine), Check("rootless", None, found)]


def _check_version(engine: Engine) -> Check:
    version, address = engine.info["ServerVersion"], engine.address
    platform = f"{engine.info['OSType']} {engine.info['Architecture']}"
    if platform not in ("linux x86_64", "linux amd64"):
        fix = "use a machine with an x86-64 processor: recording needs one"
        return Check("engine", False, f"expected an engine on linux x86_64, found {platform} at {address}", fix)
    if _version(version) >= OLDEST_ENGINE:
        return Check("engine", True, f"Docker Engine {version} at {address}")
    if "Podman Engine" in _run("docker", "version", "--format", "{{json .Server}}").stdout:
        found = f"Podman {version} at {address}; this was made for Docker, and builds may fail"
        return Check("engine", None, found, f"if they do: {INSTALL_ENGINE}")
    return Check("engine", False, f"expected Docker Engine 23 or newer, found {version} at {address}", INSTALL_ENGINE)


def _why_no_answer(engine: Engine) -> Check:
    expected = f"expected a running engine at {engine.address}"
    path = engine.address.removeprefix("unix://")
    # With a context that does not exist no address was asked; this one is then only the usual one.
    has_asked = engine.address.startswith("unix://") and "unable to resolve docker endpoint" not in engine.complaint
    error = _connection_error(path) if has_asked else None
    if isinstance(error, FileNotFoundError | ConnectionRefusedError):
        found = "no such socket" if isinstance(error, FileNotFoundError) else "a socket on which nobody listens"
        return Check("engine", False, f"{expected}, found {found}", _start_engine(path))
    if isinstance(error, PermissionError):
        return Check("engine", False, f"{expected}, found one that you may not use", _permit(path))
    return Check(
        "engine",
        False,
        f"{expected}, found none that answers: {engine.complaint or 'docker info says nothing'}",
        "make `docker info` work first: restart the engine (sudo systemctl restart docker), or name another one "
        "(DOCKER_HOST, docker context ls)",
    )


def _connection_error(path: str) -> OSError | None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE_S)
        try:
            connection.connect(path)
        except OSError as error:
            return error
    return None


def _start_engine(path: str) -> str:
    if path.startswith(USERS_OWN):
        return "start it: systemctl --user start docker; where it stops again: journalctl --user -u docker"
    return "start it: sudo systemctl start docker; where it stops again: sudo journalctl -u docker"


def _permit(path: str) -> str:
    if path.startswith(USERS_OWN):
        return "it is another user's: unset DOCKER_HOST, or docker context use default"
    if _is_listed_in_docker_group():
        return "log in again: you are in the group docker, this session began before that"
    return "sudo usermod -aG docker $USER, then log in again (this group has root's rights on this machine)"


def _is_listed_in_docker_group() -> bool:
    try:
        return pwd.getpwuid(os.getuid()).pw_name in grp.getgrnam("docker").gr_mem
    except KeyError:
        return False


def _check_compose() -> list[Check]:
    found = _run("docker", "compose", "version", "--short")
    version = found.stdout.strip().removeprefix("v") if found.returncode == 0 else ""
    expected = "expected Docker Compose 2.19 or newer as `docker compose`"
    if not version:
        old = _run("docker-compose", "version", "--short").stdout.strip()
        only = f"only docker-compose {old}" if old else "none"
        return [Check("compose", False, f"{expected}, found {only}", INSTALL_COMPOSE)]
    if _version(version) < OLDEST_COMPOSE:
        return [Check("compose", False, f"{expected}, found {version}", INSTALL_COMPOSE)]
    compose = Check("compose", True, f"Docker Compose {version}")
    if _version(version) < FIRST_COMPOSE_WITH_BUILDX:
        return [compose]
    return [compose, *_check_buildx(version)]


def _check_buildx(compose: str) -> list[Check]:
    words = _run("docker", "buildx", "version").stdout.split()  # "github.com/docker/buildx v0.29.1 a32761aeb3de..."
    version = words[1] if len(words) > 1 else "none"
    if _version(version) >= OLDEST_BUILDX:
        return []
    found = f"Docker Compose {compose} expects buildx 0.17 or newer, found {version}"
    return [Check("buildx", False, found, INSTALL_BUILDX)]


def _check_storage(engine: Engine, room_gb: int) -> Check:
    folder = Path(engine.info["DockerRootDir"])
    if CONTAINERD_IMAGES in (engine.info["DriverStatus"] or ()) and CONTAINERD_ROOT.exists():
        folder = CONTAINERD_ROOT
    try:
        free_gb = shutil.disk_usage(folder).free / 1e9 if engine.is_here else None
    except OSError:
        free_gb = None
    if free_gb is None:
        found = f"{folder} of the engine at {engine.address} cannot be looked at from here"
        return Check("storage", None, found, f"see that {room_gb} GB are free there")
    if free_gb < room_gb:
        return Check("storage", False, f"expected {room_gb} GB free in {folder}, found {free_gb:.1f} GB", MAKE_ROOM)
    return Check("storage", True, f"{free_gb:.1f} GB free in {folder}")


def _check_gpu(engine: Engine, needs_counters: bool) -> list[Check]:
    checks = [_check_driver()]
    if not engine.is_here:
        found = f"the driver at {engine.address} cannot be looked at from here"
        checks = [Check("nvidia", None, found, "see that it is 580.65 or newer")]
    if engine.info:
        checks.append(_check_toolkit(engine.info))
    if needs_counters and engine.is_here and DRIVER_PARAMETERS.exists():
        checks.append(_check_counters(engine.info))
    return checks


def _check_driver() -> Check:
    expected = "expected NVIDIA's driver 580.65 or newer for the image's CUDA 13"
    if not KERNEL_DRIVER.exists():
        return Check("nvidia", False, f"{expected}, found none", INSTALL_DRIVER)
    # "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (dvs-builder)  ..."
    version = re.search(r"Kernel Module.*?\s(\d+\.\d[\d.]*)\s", KERNEL_DRIVER.read_text())
    if version is None:
        return Check("nvidia", None, f"{expected}, found one whose version {KERNEL_DRIVER} does not tell")
    if _version(version[1]) < OLDEST_DRIVER:
        return Check("nvidia", False, f"{expected}, found {version[1]}", INSTALL_DRIVER)
    return Check("nvidia", True, f"driver {version[1]}")


def _check_toolkit(info: dict[str, Any]) -> Check:
    devices = [device.get("ID", "") for device in info.get("DiscoveredDevices") or ()]
    if "nvidia" in (info.get("Runtimes") or {}):
        return Check("toolkit", True, "the engine has the runtime nvidia")
    if any(device.startswith("nvidia.com/gpu") for device in devices):
        return Check("toolkit", True, "the engine has found GPUs through CDI")
    if hook := shutil.which("nvidia-container-runtime-hook"):
        return Check("toolkit", True, hook)
    configure = CONFIGURE_TOOLKIT_ROOTLESS if is_rootless(info) else CONFIGURE_TOOLKIT
    expected = "expected NVIDIA's container runtime in the engine, found none"
    if shutil.which("nvidia-ctk"):
        return Check("toolkit", None, f"{expected}, but nvidia-ctk is installed", configure)
    return Check("toolkit", False, expected, INSTALL_TOOLKIT + configure)


def _check_counters(info: dict[str, Any]) -> Check:
    if not are_counters_restricted():
        return Check("counters", True, "every user may read GPU counters")
    if is_rootless(info):
        found = "expected GPU counters that a rootless engine may read, found them for root only"
        return Check("counters", False, f"{found} ({COUNTERS_FOR_ROOT_ONLY})", FREE_COUNTERS)
    found = f"only root may read GPU counters ({COUNTERS_FOR_ROOT_ONLY}): --counters starts the container as root"
    return Check("counters", None, found, f"for every user: {FREE_COUNTERS}")


def _version(text: str) -> tuple[int, ...]:
    """Return the first two numbers of a version; (0, 0) where it has none, which is too old for everything."""
    numbers = re.match(r"\D*?(\d+)\.(\d+)", text)
    return (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; one that cannot be started or does not end has a status other than 0."""
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"no answer within {PATIENCE_S} s")
    except OSError as error:
        return subprocess.CompletedProcess(command, 127, "", str(error))
