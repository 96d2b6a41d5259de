"""Watches when processes of a run end, for one that is killed cannot say so. No ptrace, and no parent, is needed."""

import os
import resource
import select
import threading
import time
from collections import defaultdict
from contextlib import AbstractContextManager, suppress
from itertools import islice
from pathlib import Path

from rlscope.errors import RLScopeError
from rlscope.monitor.beside import beside
from rlscope.record.config import TRACE_VARIABLE
from rlscope.record.run.trace_files import is_held
from rlscope.trace.files import PROCESS_FILE_SUFFIX
from rlscope.trace.manifest import write_deaths
from rlscope.trace.reader import read_header
from rlscope.trace.windows import newest_windows

LOOK_AGAIN_S = 0.1
#: A process that cannot be watched by a descriptor, as one of a container, is looked at by the lock that it holds.
LOOK_AT_LOCKS_S = 1.0
#: Processes begin to record the newest window, or are late for the one before it.
NEWEST = 2


class DeathWatch:
    """Notes in `deaths.json` when processes ended whose files are not finished.

    Args:
        run: The directory of the trace, or of a run that is recorded in windows.
        has_windows: Whether it is such a run.

    Attributes:
        error: Why the watch ended early, None where it did not.
    """

    def __init__(self, run: Path, has_windows: bool) -> None:
        self.error: str | None = None
        self._run = run
        self._has_windows = has_windows
        self._stopping = threading.Event()
        self._woken = os.eventfd(0)
        self._looked_at_ns: dict[Path, int] = {}  # by directory, when it had last changed
        self._files: dict[Path, set[str]] = {}  # by directory, the names that are known
        self._poll = select.poll()
        self._poll.register(self._woken, select.POLLIN)
        self._newest: list[Path] = []  # windows
        self._watched: dict[int, int] = {}  # by descriptor of a process, its number
        self._files_of: defaultdict[int, set[Path]] = defaultdict(set)  # by number of a process that is watched
        self._by_lock: set[Path] = set()
        self._locks_due_s = 0.0
        self._deaths_ns: defaultdict[Path, dict[str, int]] = defaultdict(dict)

    def run(self) -> None:
        """Watch until told to stop. Made for a thread."""
        is_last = False
        while not is_last:
            is_last = self._stopping.is_set()
            self._look_at_directories()
            for descriptor, _ in self._poll.poll(0 if is_last else LOOK_AGAIN_S * 1000):
                self._poll.unregister(descriptor)
                os.close(descriptor)
                if descriptor != self._woken:
                    for path in self._files_of.pop(self._watched.pop(descriptor)):
                        self._note(path)
            if is_last or time.monotonic() >= self._locks_due_s:
                self._look_at_locks()

    def stop(self) -> None:
        """End the watch with a last look."""
        self._stopping.set()
        os.eventfd_write(self._woken, 1)

    def _look_at_directories(self) -> None:
        if not self._has_windows:
            self._look_at(self._run)
            return
        with suppress(OSError):
            if self._has_changed(self._run):
                self._newest = [self._run / name for name in islice(newest_windows(self._run), NEWEST)]
        for window in self._newest:
            self._look_at(window)
        watched = {path.parent for paths in (*self._files_of.values(), self._by_lock) for path in paths}
        for over in self._files.keys() - watched - {*self._newest}:
            del self._files[over]
            self._looked_at_ns.pop(over, None)
            self._deaths_ns.pop(over, None)

    def _has_changed(self, directory: Path) -> bool:
        """Tell whether files may have been made in a directory since it was last asked for.

        Raises:
            OSError: it is gone.
        """
        changed_ns = directory.stat().st_mtime_ns
        if self._looked_at_ns.get(directory) == changed_ns:
            return False
        # A file that is made in the same tick of the file system's clock shows no other time.
        is_settled = time.time_ns() - changed_ns > LOOK_AGAIN_S * 1e9
        self._looked_at_ns[directory] = changed_ns if is_settled else 0
        return True

    def _look_at(self, directory: Path) -> None:
        with suppress(OSError):  # it is being removed
            if self._has_changed(directory):
                found = {name for name in os.listdir(directory) if name.endswith(PROCESS_FILE_SUFFIX)}
                known = self._files.setdefault(directory, set())
                for name in found - known:
                    self._watch(directory / name)
                known |= found

    def _watch(self, path: Path) -> None:
        number = path.name.partition("-")[0]
        pid = int(number) if number.isdecimal() else 0
        if pid in self._files_of:
            # Of those before, the ones that are finished need no watch; nor do those of windows that are gone.
            self._files_of[pid] = {path, *(other for other in self._files_of[pid] if _is_unfinished(other))}
            return
        try:
            descriptor = os.pidfd_open(pid)
        except OSError:  # it has ended, or is one of a container, or there are too many
            self._look_at_lock(path)
            return
        if self._is_of_run(pid):
            self._watched[descriptor] = pid
            self._files_of[pid].add(path)
            self._poll.register(descriptor, select.POLLIN)
        else:
            os.close(descriptor)
            self._look_at_lock(path)

    def _is_of_run(self, pid: int) -> bool:
        """Tell whether the process of this number here is one of the run: containers count anew."""
        try:
            return f"{TRACE_VARIABLE}={self._run}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            return False

    def _look_at_locks(self) -> None:
        self._locks_due_s = time.monotonic() + LOOK_AT_LOCKS_S
        for path in list(self._by_lock):
            self._look_at_lock(path)

    def _look_at_lock(self, path: Path) -> None:
        with suppress(OSError, ValueError):
            if is_held(path, int(path.name.partition("-")[0])):
                self._by_lock.add(path)
            else:
                self._by_lock.discard(path)
                self._note(path)

    def _note(self, path: Path) -> None:
        """Note that the process of a file has ended just now, unless the file says so itself."""
        now_ns = time.monotonic_ns()
        with suppress(OSError, RLScopeError):
            if _is_unfinished(path):
                self._deaths_ns[path.parent][path.name] = _replaced_ns(path) or now_ns
                write_deaths(path.parent, self._deaths_ns[path.parent])


def _is_unfinished(path: Path) -> bool:
    with suppress(RLScopeError):
        header = read_header(path)
        return header is not None and not header.stop_ticks
    return False


def _replaced_ns(path: Path) -> int | None:
    """Return when a process went on as another program, which has a file of its own; None where it did not."""
    pid, _, number = path.stem.partition("-")
    later = path.with_name(f"{pid}-{int(number) + 1}{PROCESS_FILE_SUFFIX}")
    header = read_header(later) if later.exists() else None
    return header.first_pair.monotonic_ns if header is not None else None


def watched(run: Path, has_windows: bool) -> AbstractContextManager[DeathWatch]:
    """Return what watches the processes of a run while it is entered; each of them takes a descriptor."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return beside(DeathWatch(run, has_windows))
