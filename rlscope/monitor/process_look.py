"""Looks at the processes of a run in /proc: who is alive, stopped or busy, and who has which pipe open.

No ptrace, no capability and no signal is needed, and no process is held up.
"""

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from rlscope.analysis.hang.seen import Life, SeenProcess
from rlscope.boot import boot_id, stored_boot_id
from rlscope.record.run.trace_files import is_held
from rlscope.trace.reader import ProcessFile, Trace

#: Between two looks at how much CPU time threads have used.
APART_S = 0.2
#: A thread that ran for less of that time only woke up, as one that polls.
LEAST_BUSY = 0.2
_STATE_OF_STOPPED = b"Tt"
_STATE_OF_ZOMBIE = b"Z"
_STATE_OF_READY = b"R"


def look_at(trace: Trace) -> dict[Path, SeenProcess]:
    """Return what is seen of each process of this machine that has not finished its file; takes `APART_S`.

    One that has other numbers here, as in a container, is only known to be alive or not.
    """
    here = _boot_id()
    unfinished = [file for file in trace.processes if file.header.boot_id == here and not file.header.stop_ticks]
    alive = [file for file in unfinished if is_held(file.path, file.header.pid) and not _is_replaced(file, unfinished)]
    shown = [file for file in alive if _has_mapped(file)]
    before = {file.path: _cpu_ns(file.header.pid) for file in shown}
    time.sleep(APART_S if shown else 0)
    found = {file.path: SeenProcess(Life.RUNNING) for file in alive} | {
        file.path: _seen(file.header.pid, before[file.path]) for file in shown
    }
    for file in unfinished:
        if file.path not in found:
            found[file.path] = _ended(file.header.pid)
    return found


def _boot_id() -> bytes:
    with suppress(ValueError):
        return stored_boot_id(boot_id() or "")
    return b""


def _is_replaced(file: ProcessFile, files: list[ProcessFile]) -> bool:
    """Tell whether a process went on as another program, which has a later file and inherited the lock on this one."""
    return any(
        other.header.pid == file.header.pid and other.header.start_ticks > file.header.start_ticks for other in files
    )


def _has_mapped(file: ProcessFile) -> bool:
    """Tell whether the process of this number here is the one that writes the file: containers count anew."""
    with suppress(OSError):
        return str(file.path.resolve()) in Path(f"/proc/{file.header.pid}/maps").read_text()
    return False


def _seen(pid: int, before: Mapping[int, int]) -> SeenProcess:
    state = _state(f"/proc/{pid}")
    if state in _STATE_OF_STOPPED:
        return SeenProcess(Life.STOPPED, pipes=_pipes(pid))
    least_ns = LEAST_BUSY * APART_S * 1e9
    used_ns = {thread: cpu_ns - before.get(thread, cpu_ns) for thread, cpu_ns in _cpu_ns(pid).items()}
    busy = {
        thread: ns >= least_ns or _state(f"/proc/{pid}/task/{thread}") == _STATE_OF_READY
        for thread, ns in used_ns.items()
    }
    return SeenProcess(Life.RUNNING, busy=busy, pipes=_pipes(pid))


def _ended(pid: int) -> SeenProcess:
    if _state(f"/proc/{pid}") != _STATE_OF_ZOMBIE:
        return SeenProcess(Life.ENDED)
    with suppress(OSError, ValueError):  # shown to its own user alone
        status = os.waitstatus_to_exitcode(int(Path(f"/proc/{pid}/stat").read_text().split()[-1]))
        return SeenProcess(Life.ENDED, is_zombie=True, exit_status=status)
    return SeenProcess(Life.ENDED, is_zombie=True)


def _cpu_ns(pid: int) -> dict[int, int]:
    found = {}
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError, ValueError, IndexError):
                found[int(thread)] = int(Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()[0])
    return found


def _state(directory: str) -> bytes:
    """Return the letter of a process's or thread's state; of one that is gone X."""
    with suppress(OSError):
        return Path(f"{directory}/stat").read_bytes().rpartition(b") ")[2][:1]
    return b"X"


def _pipes(pid: int) -> dict[str, str]:
    found: dict[str, str] = {}
    with suppress(OSError):
        for descriptor in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError, ValueError, IndexError):
                channel = os.readlink(f"/proc/{pid}/fd/{descriptor}")
                if channel.startswith("pipe:"):
                    flags = Path(f"/proc/{pid}/fdinfo/{descriptor}").read_text().partition("flags:")[2]
                    mode = ("r", "w", "rw")[int(flags.split()[0], 8) & os.O_ACCMODE]
                    found[channel] = "".join(sorted({*found.get(channel, ""), *mode}))
    return found
