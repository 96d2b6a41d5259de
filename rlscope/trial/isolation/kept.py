"""The processes around a trial in a copy: who removes the copy, and who starts the command in it.

    python kept.py keep                          makes a folder, and removes it when its input ends
    python kept.py enter FOLDER COPY COMMAND...  starts a command in a copy

Run as a file, by a Python without site-packages.
"""

import ctypes
import os
import shutil
import signal
import struct
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

#: Of each process of the trial, with the folder; as hook.py has it.
FOLDER_VARIABLE = "RLSCOPE_TRIAL_FOLDER"
NOT_STARTED = 127
# Landlock: numbers of its calls, which all architectures share, and the rights to write.
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
ASK_VERSION, PATH_BENEATH = 1, 1
WRITE_FILE, REMOVE_OR_MAKE, MOVE, TRUNCATE = 1 << 1, sum(1 << bit for bit in range(4, 13)), 1 << 13, 1 << 14
PR_SET_NO_NEW_PRIVS = 38


def keep() -> None:
    """Make a folder, and remove it once nobody holds the other end of the input."""
    for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # meant for the trial
        signal.signal(ending, signal.SIG_IGN)
    folder = os.path.realpath(tempfile.mkdtemp(prefix="rlscope-try-"))
    with suppress(BrokenPipeError):  # it is gone already
        os.write(sys.stdout.fileno(), os.fsencode(folder) + b"\n")
    sys.stdin.buffer.read()
    remove(folder)


def remove(folder: str) -> None:
    """End the processes of the trial in a folder, and remove it."""
    while left := list(processes_of(folder)):
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
    for inner, _, _ in os.walk(folder):
        os.chmod(inner, 0o700)
    shutil.rmtree(folder)


def processes_of(folder: str) -> Iterator[int]:
    """Yield the processes that belong to the trial in a folder."""
    wanted = os.fsencode(f"{FOLDER_VARIABLE}={folder}")
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:  # ended, or another user's
                if wanted in file.read().split(b"\0"):
                    yield int(name)


def allow_writing_in(folders: Sequence[str]) -> None:
    """Let this process and all that it starts write in these folders only, where the kernel has Landlock."""
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ASK_VERSION)
    if version < 2:  # the first version refuses all moves between folders
        return
    rights = WRITE_FILE | REMOVE_OR_MAKE | MOVE | (TRUNCATE if version >= 3 else 0)
    rules = libc.syscall(CREATE_RULESET, struct.pack("Q", rights), ctypes.c_size_t(8), 0)
    for folder in folders:
        opened = os.open(folder, os.O_PATH)
        libc.syscall(ADD_RULE, rules, PATH_BENEATH, struct.pack("=Qi", rights, opened), 0)
        os.close(opened)
    libc.prctl(PR_SET_NO_NEW_PRIVS, *map(ctypes.c_ulong, (1, 0, 0, 0)))
    libc.syscall(RESTRICT_SELF, rules, 0)
    os.close(rules)


def enter(folder: str, copy: str, *command: str) -> None:
    """Become a command that works where this process does, but in the copy of the folder."""
    place = os.path.normpath(os.path.join(copy, os.path.relpath(os.getcwd(), folder)))
    os.chdir(place)
    os.environ["PWD"] = place
    allow_writing_in([os.environ[FOLDER_VARIABLE], "/dev", "/proc"])
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python, and by programs that it starts then
        signal.signal(ignored, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"rlscope try: {command[0]} cannot be started: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(NOT_STARTED)


if __name__ == "__main__":
    keep() if sys.argv[1] == "keep" else enter(*sys.argv[2:])
