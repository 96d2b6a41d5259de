"""This file samples what the machine reports of its GPUs and of a command's processes while it is recorded."""

import ctypes
import os
import threading
import time
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlscope.errors import reason_of
from rlscope.monitor.beside import beside
from rlscope.trace.utilization_file import HEADER, PROCESSES, UTILIZATION_NAME

if TYPE_CHECKING:
    import psutil

    from rlscope.monitor.windows.run_windows import Windows

DEVICE_PERIOD_S = 0.1
PROCESS_PERIOD_S = 0.25

Row = tuple[str, float, int | None]


class Devices:
    """The GPUs that NVML can see; none where there is no NVML."""

    def __init__(self) -> None:
        self._handles: dict[str, Any] = {}
        try:
            ctypes.CDLL("libnvidia-ml.so.1")
            import pynvml
        except (OSError, ImportError):
            return
        self._nvml = pynvml
        try:
            pynvml.nvmlInit()
            for index in range(pynvml.nvmlDeviceGetCount()):
                handle = pynvml.nvmlDeviceGetHandleByIndex(index)
                self._handles[str(pynvml.nvmlDeviceGetUUID(handle))] = handle
        except pynvml.NVMLError:
            return

    def __bool__(self) -> bool:
        return bool(self._handles)

    def sample(self) -> list[Row]:
        """Return utilisation as nvidia-smi reports it, from 0 to 1, and the bytes of memory in use."""
        rows: list[Row] = []
        for uuid, handle in list(self._handles.items()):
            try:
                utilization = self._nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100
            except self._nvml.NVMLError:  # a MIG slice does not say, a lost device not any more
                del self._handles[uuid]
                continue
            rows.append((uuid, utilization, self._memory(handle)))
        return rows

    def _memory(self, handle: Any) -> int | None:
        try:
            return int(self._nvml.nvmlDeviceGetMemoryInfo(handle).used)
        except self._nvml.NVMLError:  # devices that share the host's memory have none of their own
            return None


class ProcessTree:
    """A command with all processes that it started."""

    def __init__(self, pid: int, started_s: float) -> None:
        import psutil

        self._psutil = psutil
        self._members: dict[int, psutil.Process] = {}
        with suppress(psutil.Error):  # a short command has ended already
            self._members[pid] = psutil.Process(pid)
        self._others: set[int] = set()
        self._cpu_s = 0.0
        self._started_s = self._sampled_s = started_s

    @property
    def busy_cores(self) -> float:
        """Return how many cores the processes kept busy on average, until the last sample."""
        return self._cpu_s / max(self._sampled_s - self._started_s, 1e-9)

    def sample(self) -> list[Row]:
        """Return the number of cores that the processes kept busy since the last sample, and the memory
        resident in them.
        """
        self._follow()
        cpu_s, memory_bytes = 0.0, 0
        for pid, process in list(self._members.items()):
            try:
                with process.oneshot():
                    times = process.cpu_times()
                    memory_bytes += process.memory_info().rss
            except self._psutil.Error:
                del self._members[pid]
                continue
            # With the children that it has waited for: what a process used up is not lost with it.
            cpu_s += times.user + times.system + times.children_user + times.children_system
        if not memory_bytes:  # all have ended: one that nobody has waited for yet is still there, but holds no memory
            return []
        now_s = time.monotonic()
        busy = max(cpu_s - self._cpu_s, 0.0) / max(now_s - self._sampled_s, 1e-9)
        self._cpu_s, self._sampled_s = cpu_s, now_s
        return [(PROCESSES, busy, memory_bytes)]

    def _follow(self) -> None:
        """Ask new processes only for their parent: asking all of a large machine takes tens of milliseconds."""
        pids = set(self._psutil.pids())
        self._others &= pids
        new: dict[int, tuple[int, psutil.Process]] = {}
        for pid in pids - self._others - self._members.keys():
            try:
                process = self._psutil.Process(pid)
                new[pid] = process.ppid(), process
            except self._psutil.Error:
                continue
        while children := [pid for pid, (parent, _) in new.items() if parent in self._members]:
            for pid in children:
                self._members[pid] = new.pop(pid)[1]
        self._others.update(new)


class SampleFile:
    """The file that samples go to: the trace's, or that of the window which is recorded at the time.

    Args:
        directory: Of the trace, or of the run that is recorded in windows.
        windows: Of the run; None where it has none.

    Attributes:
        error: Why samples of some window are missing, None where none are.
    """

    def __init__(self, directory: Path, windows: "Windows | None") -> None:
        self.error: OSError | None = None
        self._directory = directory
        self._windows = windows
        self._open_in: Path | None = None
        self._file = -1

    def write(self, text: str) -> None:
        """Append lines; between windows nobody wants them, and one that cannot be written does not end the others.

        Raises:
            OSError: They cannot be written.
        """
        if self._windows is None:
            return self._write(self._directory, text)
        # Its manifest has a checksum of what is written here.
        with self._windows.completing:
            directory = self._windows.open_window
            if directory is None:
                return
            try:
                self._write(directory, text)
            except OSError as error:
                self.close()
                self.error = error

    def _write(self, directory: Path, text: str) -> None:
        if directory != self._open_in:
            self.close()
            self._open_in = directory
            path = directory / UTILIZATION_NAME
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            text = f"{HEADER}\n{text}"
        data = text.encode()
        if self._file >= 0 and os.write(self._file, data) != len(data):
            raise OSError(None, "the disk is full")

    def close(self) -> None:
        """Close the file, if it is open."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class UtilizationSampler:
    """Writes the samples of a command beside its trace, until told to stop or until that fails.

    Attributes:
        error: Why sampling ended early, None where it did not.
    """

    def __init__(self, directory: Path, pid: int, has_devices: bool, windows: "Windows | None" = None) -> None:
        self.error: str | None = None
        self._ready_sum = self._looks = 0
        self._busy_cores: float | None = None
        self._file = SampleFile(directory, windows)
        self._pid = pid
        self._has_devices = has_devices
        self._started_s = time.monotonic()
        self._stopping = threading.Event()

    def run(self) -> None:
        """Sample until told to stop. Made for a thread: the driver may take its time, signals must not wait for it."""
        if self._stopping.wait(PROCESS_PERIOD_S):  # a command so short pays for nothing
            return
        try:
            self._file.write("")
            self._sample_until_stopped()
            if self._file.error is not None:
                raise self._file.error
        except (OSError, ImportError, MemoryError) as error:  # what samples is loaded here
            self.error = reason_of(error)
        finally:
            self._file.close()

    @property
    def ready_threads(self) -> float | None:
        """Return how many threads of all programs but this one were ready to run on average; None if nobody looked."""
        return round(self._ready_sum / self._looks, 2) if self._looks else None

    @property
    def cores(self) -> dict[str, float | None]:
        """Return what the manifest says of the cores at the end of a run; None where nobody looked."""
        return {"ready_threads": self.ready_threads, "busy_cores": self._busy_cores}

    def stop(self) -> None:
        """End the sampling; a sample that is being taken may still be written."""
        self._stopping.set()

    def _look_at_ready_threads(self) -> None:
        """Read them where that takes least: /proc/stat has a line for each core."""
        with suppress(OSError, ValueError, IndexError):
            self._ready_sum += int(Path("/proc/loadavg").read_text().split()[3].partition("/")[0]) - 1
            self._looks += 1

    def _sample_until_stopped(self) -> None:
        tree = ProcessTree(self._pid, self._started_s) if Path("/proc/self").exists() else None
        if tree is None:
            self.error = "/proc, which tells what processes use, is not mounted"
        devices = Devices() if self._has_devices else None
        tree_due_s = devices_due_s = time.monotonic()
        while not self._stopping.wait(max(min(tree_due_s, devices_due_s) - time.monotonic(), 0.0)):
            now_s = time.monotonic()
            rows: list[Row] = []
            if now_s >= tree_due_s:
                if tree is not None:
                    rows += tree.sample()
                    self._busy_cores = round(tree.busy_cores, 2)
                self._look_at_ready_threads()
                tree_due_s = now_s + PROCESS_PERIOD_S
            if not devices:
                devices_due_s = tree_due_s
            elif now_s >= devices_due_s:
                rows += devices.sample()
                devices_due_s = now_s + DEVICE_PERIOD_S
            time_ns = time.monotonic_ns()
            self._file.write("".join(_line(time_ns, *row) for row in rows))


def _line(time_ns: int, source: str, utilization: float, memory_bytes: int | None) -> str:
    return f"{time_ns},{source},{utilization:.4g},{'' if memory_bytes is None else memory_bytes}\n"


def sampled(
    directory: Path, pid: int, has_devices: bool, windows: "Windows | None" = None
) -> AbstractContextManager[UtilizationSampler]:
    """Return what samples a command while it is entered, in the windows that are open if it is recorded in windows."""
    return beside(UtilizationSampler(directory, pid, has_devices, windows))
