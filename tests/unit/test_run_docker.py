"""run_docker.py without an engine: what it would do, and how it refuses what it cannot do."""

import io
import json
import os
import pwd
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from container.build import Steps, environment_hash, failure, why_build
from container.compose import override, variables
from container.engine import BASE_IMAGE_LABEL, ENVIRONMENT_LABEL, engine_errors, what_to_do
from container.errors import UsageError
from container.project import PROJECT, project_of
from container.request import Request, port, variable, volume

ROOT = Path(__file__).resolve().parents[2]
LOG = """\
#1 [cpu internal] load build definition from Dockerfile
#1 DONE 0.0s

#2 [cpu context wheels] load from client
#3 [cpu stage-3 1/7] FROM base
#4 [cpu stage-3 5/7] RUN --mount=type=bind,target=/x make     setup
#4 1.2 [Errno -3] Temporary failure in name resolution
#3 [cpu stage-3 1/7] FROM base
#4 1.3 make: 2
#4 ERROR: process "/bin/bash -c make setup" did not complete successfully: exit code: 2
------
 > [cpu stage-3 5/7] RUN --mount=type=bind,target=/x make     setup:
1.2 [Errno -3] Temporary failure in name resolution
make: 2
------
failed to solve: process "/bin/bash -c make setup" did not complete successfully: exit code: 2
"""


def call(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """As on a host without Docker."""
    return subprocess.run(
        [sys.executable, str(ROOT / "run_docker.py"), *arguments],
        env={"PATH": "/nonexistent", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def planned(*arguments: str, **environment: str) -> tuple[list[str], str, dict[str, object]]:
    """The parts of --dry-run: commands, the resolved compose file, and the service of the second one."""
    finished = call("--flavour", "cuda", "--dry-run", *arguments, **environment)
    assert finished.returncode == 0, finished.stderr
    first, _, rest = finished.stdout.partition("\n\n")
    resolved, _, second = rest.partition("# OVERRIDE\n")
    return first.splitlines()[1:], resolved, json.loads(second)["services"]["cuda"]


@pytest.mark.parametrize(
    ("option", "verbs"),
    [
        ([], ["build", "up", "exec"]),
        (["--build"], ["build"]),
        (["--stop"], ["down"]),
        (["--reload"], ["down", "build", "up", "exec"]),
        (["--run", "true"], ["build", "run"]),
    ],
)
def test_a_dry_run_needs_no_docker(option: list[str], verbs: list[str]) -> None:
    commands, resolved, service = planned(*option)
    assert [next(word for word in line.split() if word in {*verbs}) for line in commands] == verbs
    assert all(line.startswith(f"docker compose --project-name {PROJECT} -f ") for line in commands)
    assert "${" not in resolved
    assert set(service) == {"build"}


def test_each_checkout_and_user_has_a_project_of_its_own(tmp_path: Path) -> None:
    """By the project's name Compose knows what to end."""
    known = {project_of(path, uid) for path in (ROOT, tmp_path, Path("/é"), Path("/a b")) for uid in (0, 1, 1000)}
    assert len(known) == 12 and all(re.fullmatch("[a-z0-9][a-z0-9_-]*", project) for project in known)
    found = set()
    for name in ("one", "other"):
        for part in ("container", "dockerfiles", "requirements"):
            shutil.copytree(ROOT / part, tmp_path / name / part)
        shutil.copy(ROOT / "run_docker.py", tmp_path / name)
        (tmp_path / f"link to {name}").symlink_to(name)
        for folder in (tmp_path / name, tmp_path / f"link to {name}"):
            command = [sys.executable, str(folder / "run_docker.py"), "--flavour", "cpu", "--dry-run", "--reload"]
            plan = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            found.add(tuple(set(re.findall(r"--project-name (\S+)", plan))))
    assert found == {(project_of(tmp_path / name, os.getuid()),) for name in ("one", "other")}


def test_a_dry_run_shows_every_option() -> None:
    options = ["--base-image", "mine:1", "--gpus", "0,1", "--counters", "--pull", "--wheels", str(ROOT)]
    lists = ["--volume", f"{ROOT}:/data:ro", "--env", "PRICE=5$", "--publish", "8000:80"]
    index = "https://index.example"
    commands, resolved, service = planned(*options, *lists, "--run", "command", "--gpus", "x", TORCH_INDEX=index)
    assert " build --pull cuda" in commands[0]
    assert commands[1].endswith(f" --service-ports --name {PROJECT}-run-PID cuda command --gpus x")
    for text in ("BASE_IMAGE: mine:1", 'device_ids: ["0,1"]', f"wheels: {ROOT}", f"TORCH_INDEX: {index}"):
        assert text in resolved
    assert f'user: "{os.getuid()}:{os.getgid()}"' in resolved
    assert service["environment"] == {"PRICE": "5$$"}
    assert service["ports"] == ["127.0.0.1:8000:80"]
    assert service["volumes"] == [
        {
            "type": "bind",
            "source": str(ROOT),
            "target": "/data",
            "read_only": True,
            "bind": {"create_host_path": False},
        }
    ]


def test_counters_as_root_add_two_capabilities() -> None:
    service = json.loads(override(Request("cuda", counters=True), "", as_root=True))["services"]["cuda"]
    assert service["user"] == "0:0"
    assert service["cap_add"] == ["SYS_ADMIN", "DAC_OVERRIDE"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--flavour", "gpu"], "'gpu' is not one of 'cpu', 'cuda'"),
        (["--nothing"], "No such option"),
        (["true"], "expected a command after --run, found true without --run"),
        (["--run"], "expected a command after --run, found none"),
        (["--build", "--stop"], "found --build --stop; choose one"),
        (["--flavour", "cpu", "--gpus", "all"], "expected --flavour cuda with --gpus or --counters"),
        (["--flavour", "cpu", "--counters"], "expected --flavour cuda with --gpus or --counters"),
        (["--flavour", "cuda", "--gpus", "first"], "expected --gpus all or numbers such as 0,1, found first"),
        (["--wheels", "/nonexistent"], "expected a folder of wheels, found none at /nonexistent"),
        (["--volume", "/nonexistent:/data"], "found none at /nonexistent; make it first"),
        (["--volume", "/tmp"], "expected --volume SOURCE:/TARGET"),
        (["--volume", "/tmp:data"], "expected --volume SOURCE:/TARGET"),
        (["--volume", "/tmp:/data:rx"], "expected --volume SOURCE:/TARGET"),
        (["--env", "3=4"], "expected --env NAME=VALUE or NAME, found 3=4"),
        (["--env", "MISSING"], "expected a variable MISSING here"),
        (["--publish", "80"], "expected --publish HOST:CONTAINER"),
        (["--publish", "70000:80"], "expected --publish HOST:CONTAINER"),
    ],
)
def test_bad_options_are_one_line(arguments: list[str], said: str) -> None:
    refused = call(*arguments)
    assert refused.returncode == 2
    assert refused.stdout == ""
    (line,) = refused.stderr.splitlines()
    assert line.startswith("run_docker.py: error: ")
    assert said in line


@pytest.mark.parametrize("option", ["--help", "--dry-run"])
def test_a_full_output_is_one_line(option: str) -> None:
    command = [sys.executable, str(ROOT / "run_docker.py"), option]
    with Path("/dev/full").open("w") as full:
        refused = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    said = "the output: No space left on device; make that possible, or choose another place"
    assert (refused.returncode, refused.stderr) == (1, f"run_docker.py: error: {said}\n")


def test_options_are_read() -> None:
    assert volume("~:/home")["source"] == str(Path.home())
    assert variable("NAME=a=b") == ("NAME", "a=b")
    assert variable("PATH") == ("PATH", os.environ["PATH"])
    assert port("0.0.0.0:80:81") == "0.0.0.0:80:81"


def test_a_host_without_click_is_told_what_to_install() -> None:
    command = [sys.executable, "-S", str(ROOT / "run_docker.py")]
    refused = subprocess.run(command, env={}, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert refused.stderr.endswith("found none; pip install -r requirements.deploy.txt\n")


def test_a_host_without_the_docker_package_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "docker", None)
    with pytest.raises(UsageError, match="pip install -r requirements"), engine_errors():
        pass


def test_a_failed_build_names_its_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "build.log"
    log.write_text(LOG)
    error = str(failure(log))
    assert "found that [cpu stage-3 5/7] RUN make setup failed: exit code: 2; look whether this machine" in error
    assert str(log) in error
    assert capsys.readouterr().err.splitlines() == [
        "  1.2 [Errno -3] Temporary failure in name resolution",
        "  make: 2",
    ]


@pytest.mark.parametrize("text", ["", "error during connect: EOF\n"])
def test_a_build_that_fails_without_a_step(tmp_path: Path, text: str) -> None:
    log = tmp_path / "build.log"
    log.write_text(text)
    assert f"found that it failed: {text.strip()}" in str(failure(log))


def test_steps_are_shown_once() -> None:
    shown = io.StringIO()
    steps = Steps(shown)
    for line in LOG.splitlines():
        steps.show(line)
    steps.end()
    assert shown.getvalue() == "[cpu stage-3 1/7] FROM base\n[cpu stage-3 5/7] RUN make setup\n"


def test_on_a_terminal_a_step_shows_what_it_says() -> None:
    ours, theirs = os.openpty()
    with open(theirs, "w") as terminal:
        steps = Steps(terminal)
        for line in LOG.splitlines():
            steps.show(line)
        steps.end()
    shown = b""
    with suppress(OSError):  # how a terminal ends
        while said := os.read(ours, 1000):
            shown += said
    os.close(ours)
    assert b"\x1b[K    [Errno -3] Temporary failure in name resolution\r\x1b[K" in shown


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("Bind for 127.0.0.1:80 failed: port is already allocated", "--publish"),
        ('could not select device driver "nvidia" with capabilities: [[gpu]]', "toolkit"),
        ("write /var/lib/docker: no space left on device", "docker system df"),
        ("open /home/ada/.docker/buildx/refs/default/default/.tmp-x: permission denied", "chown -R $USER ~/.docker"),
        ("dial tcp: lookup registry-1.docker.io: no such host", "--base-image"),
        ("Temporary failure resolving 'deb.debian.org'", "package servers"),
        ("everything else", ""),
    ],
)
def test_known_faults_have_a_hint(said: str, hint: str) -> None:
    assert hint in what_to_do(said)
    assert bool(hint) == bool(what_to_do(said))


@pytest.mark.parametrize(("name", "seen"), [("ada", "ada"), ("andré", "rlscope"), (None, "rlscope")])
def test_a_name_that_not_every_program_reads(monkeypatch: pytest.MonkeyPatch, name: str | None, seen: str) -> None:
    def entry(uid: int) -> SimpleNamespace:
        if name is None:
            raise KeyError(uid)
        return SimpleNamespace(pw_name=name)

    monkeypatch.setattr(pwd, "getpwuid", entry)
    assert variables(Request("cpu"), is_rootless=False)["RLSCOPE_USER"] == seen


def test_a_rootless_engine_s_user_0_is_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 1234)
    assert variables(Request("cpu"), is_rootless=True)["RLSCOPE_UID"] == "0"
    assert variables(Request("cpu"), is_rootless=False)["RLSCOPE_UID"] == "1234"


def test_only_what_an_image_is_made_of_builds_it_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("container.build.CHECKOUT", tmp_path)
    lock = tmp_path / "requirements" / "torch.lock.txt"
    lock.parent.mkdir()
    lock.write_text("torch==1\n")
    request = Request("cpu", base_image="mine:1")
    assert why_build(request, None) == "there is none yet"
    built = json.loads(override(request, environment_hash(), as_root=False))
    labels = built["services"]["cpu"]["build"]["labels"]
    assert set(labels) == {ENVIRONMENT_LABEL, BASE_IMAGE_LABEL}
    assert why_build(request, labels) is None
    assert why_build(Request("cpu"), labels) is None
    (tmp_path / "Makefile").write_text("all:\n")
    assert why_build(request, labels) is None
    assert why_build(Request("cpu", base_image="mine:2"), labels) == "another base image is asked for"
    assert why_build(Request("cpu", pull=True), labels) is not None
    lock.write_text("torch==2\n")
    assert why_build(request, labels) == "its Dockerfile or its locked packages have changed"
