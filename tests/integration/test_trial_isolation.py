"""A trial in name spaces of its own leaves nothing behind and reaches no other machine, as root and as a plain user."""

import errno
import os
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from trial_users import PLAIN_USER, Place, differences, place_of, tree

#: What trainings do to files, and what they should not do. `HERE` is a folder that all may write to.
WRITES = """
import multiprocessing, multiprocessing.shared_memory, os, shutil, subprocess, sys, tempfile
from pathlib import Path
open("log.txt", "a").write("more")
Path("best/best_model.zip").write_text("better")
os.remove("notes")
shutil.rmtree("runs")
os.makedirs("runs/PPO_1/old")
Path("runs/PPO_1/events").write_text("new")
os.mkdir("checkpoints")
Path("checkpoints/500.zip").write_text("new")
os.replace("checkpoints/500.zip", "checkpoints/latest.zip")
open("data", "r+").close()
os.unlink("latest")
os.symlink("checkpoints", "latest")
Path(Path.home(), ".cache").write_text("changed")
Path(Path.home(), "new").write_text("new")
Path(tempfile.mkdtemp(), "new").write_text("new")
mark = os.path.basename(os.environ["MARK"])
Path(f"/tmp/{mark}-new").write_text("new")
multiprocessing.shared_memory.SharedMemory(f"{mark}-new", create=True, size=4096)
multiprocessing.resource_tracker._resource_tracker._stop()
subprocess.run(["sh", "-c", "echo new > of_a_shell"], check=True)
with multiprocessing.get_context("spawn").Pool(1) as pool:
    print(pool.map(abs, [-1]))
for folder in ("/var/tmp", "/etc", "/"):
    try:
        Path(folder, "rlscope-try-test").write_text("elsewhere")
    except OSError as error:
        print(error.strerror)
print(sorted(os.listdir(".")), os.path.samefile(".", os.environ["WORKING_FOLDER"]), os.getuid())
"""


@pytest.fixture(params=["root", "plain"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    user = {"root": 0, "plain": PLAIN_USER if os.geteuid() == 0 else os.geteuid()}[request.param]
    with place_of(user) as made:
        if (found := made.run("true")).get("kind") != "overlay":
            pytest.skip(f"no name space of its own here: {found}")
        yield made


def test_files_are_as_before(place: Place) -> None:
    before = tree(place.top)
    found = place.run(place.python, "-c", WRITES)
    assert (found["kind"], found["status"]) == ("overlay", 0), found
    refused = ["Read-only file system"] * 3
    names = ["best", "checkpoints", "data", "latest", "log.txt", "of_a_shell", "runs"]
    assert found["said"].splitlines() == ["[1]", *refused, f"{names} True {place.user}"]
    assert (differences(before, tree(place.top)), place.left()) == ([], [])
    changed = ("best/best_model.zip", "latest", "log.txt", "notes", "runs/PPO_1/events", "runs/PPO_1/old/events")
    assert found["overwritten"] == [str(place.home / ".cache"), *(str(place.work / name) for name in changed)]


@pytest.mark.parametrize("where", ["temporary in home", "work is temporary", "home in work", "home is all", "shared"])
def test_folders_may_lie_in_each_other(place: Place, where: str) -> None:
    shared = Path(f"/dev/shm/trial-{os.getpid()}")
    home, temporary = {
        "temporary in home": (place.home, place.work / "runs"),
        "work is temporary": (place.home, place.work),
        "home in work": (place.work / "runs", place.temporary),
        "home is all": (Path("/"), place.temporary),
        "shared": (place.home, shared),
    }[where]
    if where == "shared":
        shared.mkdir()
        os.chown(shared, place.user, place.user)
    before = tree(place.top)
    program = "import tempfile, os; open('log.txt', 'w'); print(os.path.dirname(tempfile.mkdtemp()))"
    program += "; import multiprocessing; multiprocessing.Lock()"
    try:
        environment = place.environment({"HOME": str(home), "TMPDIR": str(temporary)})
        trial = place.start(place.python, "-c", program, env=environment)
        said, errors = trial.communicate(timeout=60)
        assert f'"said": "{temporary}\\n", "overwritten": ["{place.work / "log.txt"}"]' in said, said + errors
        assert not differences(before, tree(place.top))
        assert not shared.exists() or not list(shared.iterdir())
    finally:
        if shared.exists():
            shared.rmdir()


def test_what_is_mounted_in_a_folder_is_read(place: Place) -> None:
    if place.user:
        pytest.skip("only root can mount")
    (place.work / "data set").mkdir()
    mounted = 'mount -t tmpfs none "$WORKING_FOLDER/data set" && echo 7 > "data set/x" && exec "$@"'
    before = ("unshare", "--mount", "sh", "-c", mounted, "sh")
    found = place.run("sh", "-c", "cat 'data set/x'; echo 8 > 'data set/x'", before=before)
    assert (found["said"], found["overwritten"]) == ("7\n", [])
    assert "Read-only file system" in found["errors"]


def test_a_trial_starts_where_it_was_started(place: Place) -> None:
    trial = place.start(
        "sh", "-c", 'pwd; echo 1 > events; cat "$WORKING_FOLDER/runs/PPO_1/events"', cwd=place.work / "runs/PPO_1"
    )
    said, _ = trial.communicate(timeout=60)
    assert f'"said": "{place.work}/runs/PPO_1\\n1\\n"' in said


def test_relative_paths_of_the_command_lead_where_they_did(place: Place) -> None:
    (place.work / ".venv/bin").mkdir(parents=True)
    (place.work / ".venv/bin/python").symlink_to(place.python)
    assert place.run(".venv/bin/python", "-c", "print(1)")["said"] == "1\n"


@pytest.mark.parametrize(
    ("command", "status"),
    [(("sh", "-c", "exit 3"), 3), (("sh", "-c", "kill -9 $$"), 137), (("no such program",), 127)],
)
def test_a_status_is_that_of_the_command(place: Place, command: tuple[str, ...], status: int) -> None:
    found = place.run(*command)
    assert (found["status"], found["overwritten"]) == (status, [])
    assert ("cannot be started" in found["errors"]) == (status == 127)


def test_the_rest_of_a_trial_ends_with_its_command(place: Place) -> None:
    program = "import os, time; os.fork() or (os.setsid(), os.fork(), time.sleep(1000))"
    program += "; print(os.getpid(), os.listdir('/proc/self/task'))"
    found = place.run(place.python, "-c", program, "&")
    assert (found["said"], place.processes()) == ("2 ['2']\n", [])


#: Tries to reach a listener, and others; says what of it was possible, and what else than loopback it could reach.
CONNECTS = """
import socket, sys
def tried(what):
    try:
        what()
    except OSError as error:
        return type(error).__name__
    return "reached"
for family, address in ((socket.AF_INET, ("198.51.100.1", 9)), (socket.AF_INET6, ("2001:db8::1", 9))):
    print(tried(lambda: socket.socket(family, socket.SOCK_DGRAM).sendto(b"x", address)), end=" ")
    print(tried(lambda: socket.socket(family).connect(address)), end=" ")
inside = socket.create_server(("127.0.0.1", 0))
print(tried(lambda: socket.create_connection(inside.getsockname())), end=" ")
print(tried(lambda: socket.create_connection(("127.0.0.1", int(sys.argv[1])))), end=" ")
print([line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line] == ["lo"])
"""


@pytest.mark.parametrize("network", [False, True])
def test_nothing_but_loopback_is_reached(place: Place, network: bool) -> None:
    """Neither is what listens on the loopback of the machine, unless a network was asked for."""
    came: list[None] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=lambda: came.append(server.accept()[0].close()), daemon=True).start()
        port = str(server.getsockname()[1])
        # Without a network: to other machines it would wait until the test is ended.
        program = (
            CONNECTS
            if not network
            else CONNECTS[: CONNECTS.index("for family")] + CONNECTS[CONNECTS.index("inside =") :]
        )
        said = place.run(place.python, "-c", program, port, network=network)["said"].split()
        assert said == (
            ["reached", "reached", "False"]
            if network
            else ["OSError"] * 4 + ["reached", "ConnectionRefusedError", "True"]
        )
        assert len(came) == network
        server.close()


def test_a_screen_answers(place: Place) -> None:
    """Other sockets in folders that a trial may write to do not: they are of others' programs."""
    screens = Path("/tmp/.X11-unix")
    if screens.exists() or os.geteuid():
        pytest.skip("the machine has screens, or root is needed")
    screens.mkdir()
    try:
        with socket.socket(socket.AF_UNIX) as screen, socket.socket(socket.AF_UNIX) as other:
            for each, path in ((screen, screens / "X7"), (other, place.temporary / "socket")):
                each.bind(str(path))
                path.chmod(0o777)
                each.listen()
            program = (
                "import socket, sys; print(*(socket.socket(socket.AF_UNIX).connect_ex(it) for it in sys.argv[1:]))"
            )
            found = place.run(place.python, "-c", program, str(screens / "X7"), str(place.temporary / "socket"))
            assert found["said"] == f"0 {errno.ECONNREFUSED}\n"
    finally:
        shutil.rmtree(screens)


@pytest.mark.parametrize("variables", [{"HOME": ""}, {"HOME": "/no/such"}, {"TMPDIR": ""}, {"TMPDIR": "/no/such"}])
def test_folders_need_not_be_there(place: Place, variables: dict[str, str]) -> None:
    before = tree(place.top)
    trial = place.start("sh", "-c", "echo 1 > log.txt", env=place.environment(variables))
    assert '"kind": "overlay", "status": 0' in trial.communicate(timeout=60)[0]
    assert not differences(before, tree(place.top))


def test_hubs_are_told_to_stay_offline(place: Place) -> None:
    names = ("RLSCOPE_TRIAL", "WANDB_MODE", "HF_HUB_OFFLINE", "MLFLOW_TRACKING_URI")
    program = f"import os; print(*(repr(os.environ.get(name)) for name in {names}))"
    environment = place.environment({"MLFLOW_TRACKING_URI": "https://example.org"})
    said = [
        place.start(place.python, "-c", program, options=options, env=environment).communicate(timeout=60)[0]
        for options in ("{}", '{"network": true}')
    ]
    assert ["'1' 'offline' '1' ''" in said[0], "'1' 'offline' None ''" in said[1]] == [True, True]


def test_a_full_memory_is_the_trials_failure(place: Place) -> None:
    """A trial may fill half of the memory that is free, and no more."""
    program = (
        "import os\n"
        "free = [int(line.split()[1]) << 10 for line in open('/proc/meminfo') if 'MemAvailable' in line][0]\n"
        "file = os.open('new', os.O_CREAT | os.O_WRONLY)\n"
        "try: os.posix_fallocate(file, 0, free * 3 // 4)\n"
        "except OSError as error: print(error.strerror)"
    )
    assert place.run(place.python, "-c", program)["said"] == "No space left on device\n"


def test_folders_of_another_group_are_not_laid_over(place: Place) -> None:
    """The kernel refuses to keep other groups in the overlay of a plain user: writing would fail at once."""
    if place.user == 0 or os.geteuid():
        pytest.skip("only root can give folders of a plain user to a group")
    os.chown(place.work, place.user, PLAIN_USER + 1)
    found = place.run("sh", "-c", "echo 1 > log.txt; echo 1 > best/new")
    assert (found["kind"], found["status"], found["overwritten"]) == ("copy", 0, [str(place.work / "log.txt")])
    assert (place.work / "log.txt").read_text() == "log.txt of before"
