"""What lies in a trace and is no file to read: pipes, links, devices, folders, and files without end."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from adversary_runs import call, is_one_error, small_trace
from recording import record

from rlscope.plots import figure_files
from rlscope.trace.manifest import note_unrecorded, read_unrecorded

FILES = (
    "manifest.json", "config.json", "unrecorded.txt", "utilization.csv", "counters-GPU-1.arrows", "7-0.rlscope",
)  # fmt: skip
#: Without these a trace is shown as it is.
UNNEEDED = ("config.json",)


def make_socket(path: Path) -> None:
    os.chdir(path.parent)  # a socket's path has at most 107 bytes
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path.name)


def make_endless(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


KINDS: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "link to a device": lambda path: path.symlink_to("/dev/zero"),
    "link to itself": lambda path: path.symlink_to(path),
    "folder": Path.mkdir,
    "socket": make_socket,
    "file without end": make_endless,
}


@pytest.fixture(autouse=True)
def one_format(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(figure_files, "FIGURE_FORMATS", ("svg",))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kind", KINDS)
def test_no_verb_waits_for_it_or_reads_it_all(kind: str, name: str, tmp_path: Path) -> None:
    """It is refused in one line that names it; what is not needed of a trace, or with --recover, is gone without."""
    trace = small_trace(tmp_path / "trace")
    (trace / name).unlink(missing_ok=True)
    KINDS[kind](trace / name)
    is_harmless = name in UNNEEDED or (name, kind) == ("7-0.rlscope", "file without end")
    verbs: list[tuple[str, ...]] = [("analyze",), ("inspect",)]
    if kind == "pipe":  # drawing takes its time
        verbs.append(("report", "-o", str(tmp_path / "report")))
    for verb in verbs:
        reads_it = verb[0] != "inspect" or name not in ("utilization.csv", "counters-GPU-1.arrows")
        found = call(verb[0], trace, *verb[1:])
        if is_harmless or not reads_it:
            assert (found.returncode, found.stderr) == (0, "")
        else:
            assert is_one_error(found, 2) and str(trace / name) in found.stderr
        recovered = call(verb[0], trace, "--recover", *verb[1:])
        if name == "utilization.csv" and reads_it:
            assert is_one_error(recovered, 2)
        else:
            assert (recovered.returncode, recovered.stderr) == (0, "")


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_program_leaves_in_its_trace_does_not_keep_its_status(kind: str, tmp_path: Path) -> None:
    """The command's status is its own whatever lies where its list of unrecorded processes was."""
    KINDS[kind](made := tmp_path / "unrecorded.txt")
    program = (
        "import os, subprocess, sys\n"
        f"os.replace({str(made)!r}, os.environ['RLSCOPE_TRACE'] + '/unrecorded.txt')\n"
        "subprocess.run([sys.executable, '-S', '-c', ''])\n"  # is to be noted there
        "sys.exit(7)"
    )
    if kind == "folder":
        there = "os.environ['RLSCOPE_TRACE'] + '/unrecorded.txt'"
        program = program.replace("os.replace", f"os.unlink({there}); os.replace")
    recorded = record(tmp_path / "trace", sys.executable, "-c", program)
    assert recorded.returncode == 7, recorded.stderr
    assert all(line.startswith("rlscope: ") for line in recorded.stderr.splitlines()), recorded.stderr


def test_a_program_starts_whatever_its_configuration_is(tmp_path: Path) -> None:
    """A pipe in the place of config.json, met by a process of the run."""
    program = (
        "import os, subprocess, sys\n"
        "config = os.environ['RLSCOPE_TRACE'] + '/config.json'\n"
        "os.unlink(config); os.mkfifo(config)\n"
        "print(subprocess.run([sys.executable, '-c', 'print(5)'], capture_output=True, text=True, timeout=60).stdout)"
    )
    recorded = record(tmp_path / "trace", sys.executable, "-c", program)
    assert (recorded.returncode, recorded.stdout) == (0, "5\n\n"), recorded.stderr


def test_a_note_is_not_written_into_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "unrecorded.txt")
    with pytest.raises(OSError, match="No such device"):
        note_unrecorded(tmp_path, "a reason")


def test_a_list_of_unrecorded_processes_without_line_ends_is_not_read_at_once(tmp_path: Path) -> None:
    (tmp_path / "unrecorded.txt").write_bytes(b"7 " + b"x" * 5_000_000)
    found = read_unrecorded(tmp_path)
    assert len(found) == 101 and max(map(len, found)) < 1100


def test_a_process_file_that_is_replaced_by_a_pipe_behind_its_header_is_not_waited_for(tmp_path: Path) -> None:
    """Between the look at its header and the reading of its events."""
    os.mkfifo(tmp_path / "1-0.rlscope")
    code = f"from rlscope import _analysis; vars(_analysis.sweep({str(tmp_path / '1-0.rlscope')!r}))"
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "Illegal seek" in finished.stderr
