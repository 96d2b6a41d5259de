"""Notices that a run does not go on while none of its processes computes, and says once why; it ends nothing."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from rlscope.monitor.beside import beside
from rlscope.record.run.trace_files import running_processes
from rlscope.trace.windows import newest_windows

#: As often the processes' CPU time is looked at.
LOOK_AGAIN_S = 5.0
#: A run whose processes use less of a core than this does nothing but wake up and wait.
LEAST_CORES = 0.02
#: Nothing has gone on for so long.
QUIET_S = 60.0
#: A look at the traces of many processes takes longer than a second on a busy machine, but not that long.
_PATIENCE_S = 120.0
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class HangWatch:
    """Asks `rlscope why`, in a process of its own, where all processes of a run have been idle for long.

    Args:
        run: The directory of the trace, or of a run that is recorded in windows.
        say: Prints a line.
        quiet_s: For how long nothing must have gone on.

    Attributes:
        error: Why the watch ended early, None where it did not.
    """

    def __init__(self, run: Path, say: Callable[[str], None], quiet_s: float = QUIET_S) -> None:
        self.error: str | None = None
        self._run = run
        self._say = say
        self._quiet_s = quiet_s
        self._stopping = threading.Event()

    def run(self) -> None:
        """Watch until told to stop, or until it is said that the run is stuck. Made for a thread."""
        look_again_s = min(LOOK_AGAIN_S, self._quiet_s / 4)
        used_s, looked_s = self._cpu_s(), time.monotonic()
        ask_at_s = looked_s + self._quiet_s
        while not self._stopping.wait(look_again_s):
            before_s, before = looked_s, used_s
            used_s, looked_s = self._cpu_s(), time.monotonic()
            if used_s.keys() - before.keys() or _cores(before, used_s, looked_s - before_s) >= LEAST_CORES:
                ask_at_s = looked_s + self._quiet_s
            if used_s and looked_s >= ask_at_s:
                if self._has_said():
                    return
                ask_at_s = looked_s + self._quiet_s

    def stop(self) -> None:
        """End the watch."""
        self._stopping.set()

    def _cpu_s(self) -> dict[int, float]:
        """Return how much CPU time each process has used that records; none of those that are not shown here."""
        found = {}
        with suppress(OSError):
            newest = next(iter(newest_windows(self._run)), None)
            for pid in running_processes(self._run if newest is None else self._run / newest):
                with suppress(OSError, ValueError, IndexError):
                    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
                    found[pid] = (int(fields[11]) + int(fields[12])) / _TICKS_PER_S
        return found

    def _has_said(self) -> bool:
        command = [sys.executable, "-m", "rlscope", "why", str(self._run), "--json"]
        with suppress(OSError, ValueError, subprocess.SubprocessError):
            answer = json.loads(subprocess.check_output(command, stderr=subprocess.DEVNULL, timeout=_PATIENCE_S))
            is_long = answer["stuck"] and answer["stuck_s"] >= self._quiet_s
            if is_long and answer["trouble"] and not self._stopping.is_set():
                self._say(f"nothing has gone on for {answer['stuck_s']:.0f} s: {answer['sentence']}")
                self._say(f"more: rlscope why {self._run}. The program goes on")
                return True
        return False


def _cores(before: dict[int, float], after: dict[int, float], elapsed_s: float) -> float:
    return sum(used_s - before.get(pid, used_s) for pid, used_s in after.items()) / max(elapsed_s, 1e-9)


def hang_watched(run: Path, say: Callable[[str], None]) -> AbstractContextManager[HangWatch]:
    """Return what watches a run while it is entered."""
    return beside(HangWatch(run, say))
