"""Where name spaces are forbidden a trial runs in a copy, and ends where it would change or reach something else."""

import ctypes
import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
from trial_users import FORBIDDING, PLAIN_USER, Place, differences, place_of, tree

from rlscope.trial.isolation import kept


@pytest.fixture(params=["root", "plain"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    user = {"root": 0, "plain": PLAIN_USER if os.geteuid() == 0 else os.geteuid()}[request.param]
    with place_of(user) as made:
        if (found := made.run("true", before=FORBIDDING)).get("kind") != "copy":
            pytest.skip(f"name spaces cannot be forbidden here: {found}")
        yield made


def run(place: Place, *command: str, **variables: str) -> dict[str, Any]:
    """Run a trial in a copy, with the hook in each Python as `rlscope try` has it."""
    hook = place.temporary / "hook"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text("from rlscope.trial.isolation import hook; hook.install_in_copy()")
    environment = place.environment(variables)
    environment["PYTHONPATH"] += f":{hook}"
    before = tree(place.top, folders_too=False)
    trial = place.start(*command, before=FORBIDDING, env=environment)
    said, errors = trial.communicate(timeout=60)
    assert trial.returncode == 0, errors
    assert not differences(before, tree(place.top, folders_too=False))
    return dict(json.loads(said), errors=errors)


def test_files_are_as_before(place: Place) -> None:
    program = (
        "import os, shutil, tempfile\n"
        "open('log.txt', 'a').write('more'); os.remove('notes'); shutil.rmtree('runs'); os.mkdir('new')\n"
        "os.rename('best', 'new/best'); open('data', 'r+').close(); tempfile.NamedTemporaryFile().write(b'x')\n"
        "import multiprocessing; multiprocessing.Lock(); os.system('echo 1 > of_a_shell')\n"
        "print(sorted(os.listdir('.')), os.environ['PWD'] == os.getcwd())"
    )
    found = run(place, place.python, "-c", program)
    assert (found["kind"], found["status"]) == ("copy", 0), found
    assert found["said"] == "['data', 'latest', 'log.txt', 'new', 'of_a_shell'] True\n"
    changed = ("best/best_model.zip", "log.txt", "notes", "runs/PPO_1/events", "runs/PPO_1/old/events")
    assert found["overwritten"] == [str(place.work / name) for name in changed]


def test_the_copy_may_lie_in_the_folder(place: Place) -> None:
    """It is no part of itself."""
    found = run(place, "ls", "runs", TMPDIR=str(place.work / "runs"))
    assert (found["kind"], found["said"], found["overwritten"]) == ("copy", "PPO_1\n", [])


@pytest.mark.parametrize(
    ("harm", "would_have"),
    [
        ("open(work / 'log.txt', 'a')", "written {work}/log.txt"),
        ("open(home / 'new', 'w')", "written {home}/new"),
        ("(home / '.cache').unlink()", "written {home}/.cache"),
        ("os.rename('log.txt', home / 'moved')", "written {home}/moved"),
        ("os.rename(home / '.cache', 'moved')", "written {home}/.cache"),
        ("os.link(work / 'data', 'linked')", "written {work}/data"),
        ("os.symlink(home, 'out'); open('out/new', 'w')", "written {home}/new"),
        ("shutil.rmtree(work / 'runs')", "written {work}/runs/PPO_1/"),
        ("os.mkdir('new', dir_fd=os.open(home, os.O_RDONLY))", "written {home}/new"),
        ("os.truncate(work / 'data', 0)", "written {work}/data"),
        ("os.chmod(work / 'data', 0)", "written {work}/data"),
        ("import sqlite3; sqlite3.connect(work / 'study.db')", "written {work}/study.db"),
        ("socket.create_connection(('198.51.100.1', 9))", "connected to 198.51.100.1"),
        ("socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('198.51.100.1', 9))", "connected to 198.51.100.1"),
        ("socket.getaddrinfo('example.org', 80)", "asked other machines for the address of example.org"),
        ("subprocess.run([sys.executable, '-c', f'open({str(home / \"new\")!r}, \"w\")'])", "written {home}/new"),
    ],
)
def test_a_harm_ends_the_trial(place: Place, harm: str, would_have: str) -> None:
    program = (
        "import os, shutil, socket, subprocess, sys\nfrom pathlib import Path\n"
        f"work, home = Path(os.environ['WORKING_FOLDER']), Path.home()\n{harm}\nprint('goes on')"
    )
    found = run(place, place.python, "-c", program)
    said = "goes on\n" if "subprocess" in harm else ""
    assert (found["status"], found["said"], found["overwritten"]) == (0 if said else 125, said, []), found
    expected = "ends where it would have " + would_have.format(work=place.work, home=place.home)
    assert expected in found["errors"].splitlines()[-1]


def test_what_would_be_made_where_something_lies_is_no_harm(place: Place) -> None:
    """Programs ask for their folders of settings with `exist_ok`, as Matplotlib does: the kernel makes nothing."""
    program = (
        "import os\nfrom pathlib import Path\n"
        "Path.home().mkdir(parents=True, exist_ok=True)\n"
        "try:\n    os.symlink('here', Path.home())\n"
        "except FileExistsError:\n    print('goes on')"
    )
    found = run(place, place.python, "-c", program)
    assert (found["status"], found["said"], found["overwritten"]) == (0, "goes on\n", []), found


def test_the_copy_goes_though_its_keeper_was_killed(place: Place) -> None:
    program = (
        "import os, pathlib, signal\n"
        "for name in filter(str.isdigit, os.listdir('/proc')):\n"
        "    status = pathlib.Path('/proc', name, 'stat').read_text().rpartition(')')[2].split()\n"
        "    if int(status[1]) == os.getppid() and int(name) != os.getpid():\n"
        "        os.kill(int(name), signal.SIGKILL)\n"
        "        print('killed')"
    )
    assert run(place, place.python, "-c", program)["said"] == "killed\n"


def test_other_programs_cannot_write_elsewhere(place: Place) -> None:
    """What Python does not see the kernel refuses."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(kept.CREATE_RULESET, None, ctypes.c_size_t(0), kept.ASK_VERSION) < 2:
        pytest.skip("the kernel has no Landlock")
    found = run(place, "sh", "-c", 'echo 1 > here && echo 1 > "$WORKING_FOLDER/log.txt"')
    assert (found["status"], found["overwritten"]) == (2, [])
    assert "Permission denied" in found["errors"]


def test_paths_of_the_command_lead_into_the_copy(place: Place) -> None:
    """Virtual environments are links there, which relative paths reach too."""
    (place.work / ".venv/bin").mkdir(parents=True)
    (place.work / ".venv/bin/python").symlink_to(place.python)
    (place.work / ".venv/pyvenv.cfg").touch()
    (place.work / "train.py").write_text("import os, sys; print(__file__, os.path.islink('.venv'), sys.argv[1:])")
    found = run(place, ".venv/bin/python", str(place.work / "train.py"), "--steps", "3")
    [path, linked, *words] = found["said"].rsplit(maxsplit=3)
    assert path.startswith(f"{place.temporary}/") and path.endswith(f"{place.work.name}/train.py")
    assert (linked, words) == ("True", ["['--steps',", "'3']"])


def test_links_lead_where_they_did(place: Place) -> None:
    (place.home / "data set").mkdir()
    (place.home / "data set/x").write_text("7")
    (place.work / "input").symlink_to("../data set")
    found = run(place, "cat", "input/x", "latest/events")
    assert found["said"] == "7runs/PPO_1/events of before"


def test_without_room_it_is_refused(place: Place) -> None:
    """In one line that says both reasons, and how the trial runs all the same."""
    (place.work / "large").touch()
    os.truncate(place.work / "large", 1 << 43)
    found = place.run("true", before=FORBIDDING)
    [refusal] = found["refused"].splitlines()
    assert refusal.startswith("IsolationRefused: ") and "unshare: " in refusal
    assert all(word in refusal for word in (str(place.work), "8796.1 GB", "--in-place"))
    found = place.run("sh", "-c", "echo $RLSCOPE_TRIAL > log.txt", before=FORBIDDING, in_place=True)
    assert (found["kind"], found["overwritten"]) == ("in place", [])
    assert (place.work / "log.txt").read_text() == "1\n"
