"""Faults while a run is recorded: the program ends as it would alone, what is lost is said, and every verb bears it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from adversary_runs import call, is_one_error, on_a_disk, skip_without_disk
from processes import until
from recording import RLSCOPE, Recording, environment

from rlscope.plots import figure_files

OPERATIONS = 60_000
STATUS = 7
#: How a program ends that nothing disturbs, and what it does until then.
ENDED = (STATUS, "done\n")
WORK = f"""
import os, sys
import rlscope
def work(times={OPERATIONS}):
    for _ in range(times):
        with rlscope.operation("work"):
            pass
{{first}}
work()
print("done", flush=True)
sys.exit({STATUS})
"""


def run(words: "list[str | Path]", folder: Path, before: tuple[str, ...] = ()) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*before, *map(str, words)], cwd=folder, env=environment(), capture_output=True, text=True, timeout=100
    )


def recorded(first: str, folder: Path, before: tuple[str, ...] = ()) -> "subprocess.CompletedProcess[str]":
    """Runs the program under `rlscope record`, all of it below the words `before`; `first` is what it begins with."""
    (folder / "program.py").write_text(WORK.format(first=first))
    # By way of a shell, which is found whoever runs this.
    started = ["sh", "-c", f"exec {sys.executable} program.py"]
    return run([*RLSCOPE, "record", "-o", "disk/trace", "--", *started], folder, before)


def is_refused_or_ended(finished: "subprocess.CompletedProcess[str]") -> bool:
    """Whether the program ran, undisturbed; where nothing can be recorded it is not started, and that is said."""
    assert "Traceback" not in finished.stderr, finished.stderr
    if (finished.returncode, finished.stdout) != ENDED:
        assert finished.stdout == "" and is_one_error(finished)
        return False
    assert all(line.startswith("rlscope: ") for line in finished.stderr.splitlines()), finished.stderr
    return True


def assert_loss_is_said(trace: Path, said: str) -> None:
    sweeps = Recording(trace, 0, "", "").sweeps()
    kept = sum(swept["events"]["operation"] for swept in sweeps)
    dropped = sum(swept["dropped_records"] for swept in sweeps)
    assert kept + dropped >= OPERATIONS or "is not recorded: " in said, said
    assert "Input/output error" not in said  # the reason, not that there is one
    assert kept == OPERATIONS or "Incomplete: " in said or "cannot be counted" in said, said


def assert_every_verb_bears(trace: Path, *verbs: str) -> None:
    """A result or one line; with --recover a result wherever the file of a process is left."""
    for verb in ("analyze", "inspect", *verbs):
        words = ("-o", trace.parent / "report") if verb == "report" else ()
        for options in ((), ("--recover",)):
            found = call(verb, trace, *words, *options)
            assert found.returncode == 0 or is_one_error(found, 2), found.stderr


@pytest.fixture(autouse=True)
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(figure_files, "FIGURE_FORMATS", ("svg",))
    (tmp_path / "disk").mkdir()
    return tmp_path / "disk"


@pytest.mark.parametrize("size", ["4k", "12k", "20k", "32k", "44k", "100k", "400k"])
def test_a_full_disk(size: str, tmp_path: Path) -> None:
    """Full at each step: no file, a header alone, no room for events, none for names, amid the events, never."""
    finished = recorded("", tmp_path, on_a_disk(size))
    skip_without_disk(finished)
    if not is_refused_or_ended(finished):
        assert size == "4k"
        return
    if list((tmp_path / "kept").glob("*.rlscope")):
        assert_loss_is_said(tmp_path / "kept", finished.stderr)
    assert_every_verb_bears(tmp_path / "kept", *(["report"] if size == "100k" else []))


def test_a_disk_that_is_taken_away(tmp_path: Path) -> None:
    finished = recorded("work(); os.system('umount -l disk')", tmp_path, on_a_disk("20m"))
    skip_without_disk(finished)
    assert is_refused_or_ended(finished)
    assert "cannot be completed: " in finished.stderr
    assert_every_verb_bears(tmp_path / "disk" / "trace")


# Limits on `record` and all that it starts.


@pytest.mark.parametrize(
    "limit",
    [
        *(f"fsize={most}" for most in (0, 500, 8192, 30_000, 100_000)),
        *(f"nofile={most}" for most in (5, 6, 7, 9)),
        *(f"as={megabytes << 20}" for megabytes in (40, 80, 160)),  # then `record` cannot load what counts events
    ],
)
def test_little_is_left(limit: str, tmp_path: Path) -> None:
    """No file may grow, few may be open, there is little memory."""
    finished = recorded("", tmp_path, ("prlimit", f"--{limit}"))
    if limit == "fsize=0":  # what it says would be in a file, too
        assert finished.returncode in (1, 2)
    elif is_refused_or_ended(finished):
        assert_loss_is_said(tmp_path / "disk" / "trace", finished.stderr)
    assert_every_verb_bears(tmp_path / "disk" / "trace")


def test_a_child_of_a_process_whose_file_is_full_has_a_file_of_its_own(tmp_path: Path) -> None:
    first = "work()\nif os.fork() == 0:\n    work(1000)\n    os._exit(0)\nos.wait()"
    finished = recorded(first, tmp_path, ("prlimit", "--fsize=100000"))
    assert is_refused_or_ended(finished)
    child = min(Recording(tmp_path / "disk" / "trace", 0, "", "").sweeps(), key=lambda swept: swept["dropped_records"])
    assert (child["events"]["operation"], child["complete"]) == (1000, True)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_few_processes_may_run(most: int, tmp_path: Path) -> None:
    """None for the command, none for the thread that samples utilisation, and both."""
    if os.geteuid() != 0:
        pytest.skip("the limit counts all that this user runs")
    reads = "-all,+dac_override,+dac_read_search"
    as_another = (
        "setpriv",
        "--reuid=54321",
        f"--inh-caps={reads}",
        f"--ambient-caps={reads}",
        f"--bounding-set={reads}",
    )
    finished = recorded("", tmp_path, (*as_another, "prlimit", f"--nproc={most}"))
    assert is_refused_or_ended(finished) == (most > 1)
    if most > 1:
        assert_loss_is_said(tmp_path / "disk" / "trace", finished.stderr)
    assert_every_verb_bears(tmp_path / "disk" / "trace")


#: Takes all memory in pieces of that size, goes on, and has it back before the end. Names are long: Python too asks
#: malloc for them, so the recorder's copy is the first that gets no memory. Where the pieces are small, the thread that
#: looks at stacks gets none either.
USED_UP = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (80 << 20, resource.RLIM_INFINITY))
held, lost = [], 0
for size in (1 << 20, {least}):
    try:
        while True:
            held.append(bytearray(size))
    except MemoryError:
        pass
names = 0
while names < 20_000:
    names += 1
    try:
        with rlscope.operation(f"{{names}} " * 200):
            pass
    except MemoryError:
        lost += 1
assert lost > 0
del held
"""


@pytest.mark.parametrize("least", [3000, 600])
def test_a_program_that_uses_up_all_memory_and_goes_on(least: int, tmp_path: Path) -> None:
    finished = recorded(USED_UP.format(least=least), tmp_path)
    assert is_refused_or_ended(finished)
    assert "stopped: Cannot allocate memory. The program goes on; what is lost is counted." in finished.stderr
    assert_loss_is_said(tmp_path / "disk" / "trace", finished.stderr)
    assert_every_verb_bears(tmp_path / "disk" / "trace")


# What others do to the trace meanwhile.

TRACE = "os.environ.get('RLSCOPE_TRACE')"
REPLACED = {
    "a file": f"os.rename({TRACE}, 'moved'); open({TRACE}, 'w').close()",
    "a link to itself": f"os.rename({TRACE}, 'moved'); os.symlink('trace', {TRACE})",
    "an empty folder": f"os.rename({TRACE}, 'moved'); os.mkdir({TRACE})",
}


@pytest.mark.parametrize("by", REPLACED)
def test_a_trace_that_is_replaced(by: str, tmp_path: Path) -> None:
    finished = recorded(REPLACED[by] + "\nif os.fork() == 0: os._exit(0)\nos.wait()", tmp_path)
    assert is_refused_or_ended(finished)
    assert "cannot be completed: " in finished.stderr
    assert_every_verb_bears(tmp_path / "disk" / "trace")
    assert_every_verb_bears(tmp_path / "moved")
    (swept,) = Recording(tmp_path / "moved", 0, "", "").sweeps()
    lost_children = 0 if by == "an empty folder" else 1  # in which the child can make a file
    assert (swept["events"]["operation"], len(swept["why"])) == (OPERATIONS, lost_children)


def test_a_file_that_is_shortened_ends_the_program_as_documented(tmp_path: Path) -> None:
    """The kernel does, by SIGBUS; the verbs bear what is left."""
    shorten = f"import glob\nfor path in glob.glob({TRACE} + '/*.rlscope'): os.truncate(path, 0)"
    finished = recorded(shorten, tmp_path)
    assert (finished.returncode, finished.stdout) == (-signal.SIGBUS, "")
    assert all(line.startswith("rlscope: ") for line in finished.stderr.splitlines()), finished.stderr
    assert_every_verb_bears(tmp_path / "disk" / "trace")


# SIGKILL at each step.

#: `record`, which is killed where it comes to the function of that name in that module.
KILLED = """
import os, runpy, signal, sys
import {module} as module
assert callable(module.{step})
module.{step} = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
sys.argv[:] = ["rlscope", "record", "-o", "disk/trace", "--", sys.executable, "program.py"]
runpy.run_module("rlscope", run_name="__main__")
"""
STEPS = {
    "begin_trace": False, "_run_recorded": False, "name_main_process": True, "sampled": True, "wait_forwarding": True,
    "_await_services": True, "end_trace": True, "summary_of": True, "_end_as": True,
}  # fmt: skip
#: Steps that are imported only when they come.
ELSEWHERE = {"sampled": "rlscope.monitor.utilization_sampler", "summary_of": "rlscope.cli.summary"}


@pytest.mark.parametrize("step", STEPS)
def test_record_is_killed(step: str, tmp_path: Path) -> None:
    """What it has started goes on and is recorded to its end."""
    ends = "import atexit; atexit.register(lambda: open('ended', 'w').close())"
    (tmp_path / "program.py").write_text(WORK.format(first=ends))
    with (tmp_path / "out").open("w") as out:
        code = KILLED.format(step=step, module=ELSEWHERE.get(step, "rlscope.cli.record"))
        finished = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment(), stdout=out)
    assert finished.returncode == -signal.SIGKILL
    trace = tmp_path / "disk" / "trace"
    if STEPS[step]:
        until((tmp_path / "ended").exists)
        wait_until_written(trace)
        assert (tmp_path / "out").read_text() == "done\n"
        (swept,) = Recording(trace, 0, "", "").sweeps()
        assert (swept["events"]["operation"], swept["complete"]) == (OPERATIONS, True)
    assert_every_verb_bears(trace)
    again = run([*RLSCOPE, "record", "--force", "-o", trace, "--", sys.executable, "program.py"], tmp_path)
    assert (again.returncode, again.stdout) == ENDED, again.stderr


def wait_until_written(trace: Path) -> None:
    """Until no process has a file of the trace open."""
    (file,) = trace.glob("*.rlscope")
    process = Path("/proc", file.name.split("-")[0])
    until(lambda: not process.exists() or "Z" in (process / "stat").read_text().split()[2])


#: Kills the process where the recorder comes to that function of the core, or has come out of it.
KILLED_INSIDE = """
import signal
from rlscope import _native
from rlscope.record import recorder
plain = _native.{step}
def killed(*arguments):
    if not {is_after} or plain(*arguments) is None:
        os.kill(os.getpid(), signal.SIGKILL)
_native.{step} = killed
with rlscope.profile("disk/trace"):
    work()
"""


@pytest.mark.parametrize("step", ["start", "write_properties", "stop", "restore_all"])
@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
def test_a_recorded_process_is_killed(step: str, is_after: bool, tmp_path: Path) -> None:
    program = WORK.format(first=KILLED_INSIDE.format(step=step, is_after=is_after))
    finished = run([sys.executable, "-c", program], tmp_path)
    assert (finished.returncode, finished.stdout, finished.stderr) == (-signal.SIGKILL, "", "")
    trace = tmp_path / "disk" / "trace"
    assert_every_verb_bears(trace)
    if step in ("stop", "restore_all"):
        (swept,) = Recording(trace, 0, "", "").sweeps()
        assert (swept["events"]["operation"], swept["complete"]) == (OPERATIONS, step != "stop" or is_after)


CLONED = """if ctypes.CDLL(None).syscall({number}, signal.SIGCHLD, 0, 0, 0, 0) == 0:
    work({operations})
    {end}
work({after})
os.wait()"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the number of a system call is that of x86_64")
@pytest.mark.parametrize("end", ["os._exit(0)", "sys.exit(0)"])
@pytest.mark.parametrize("operations", [1, 3000, 60_000])
def test_a_process_made_by_the_system_call_itself(operations: int, end: str, tmp_path: Path) -> None:
    """Of `clone` (56) no handler of the C library is told: the child writes nothing into its parent's file."""
    cloned = CLONED.format(number=56, operations=operations, end=end, after=5000)
    finished = recorded(f"import ctypes, signal\nwork(1000)\n{cloned}", tmp_path)
    assert (finished.returncode, finished.stdout) == ENDED
    trace = tmp_path / "disk" / "trace"
    (swept,) = Recording(trace, 0, "", "").sweeps()
    assert (swept["events"]["operation"], swept["complete"]) == (OPERATIONS + 6000, True)
    assert "was made by the system call clone itself" in call("inspect", trace).stdout
