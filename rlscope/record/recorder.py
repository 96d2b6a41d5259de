"""Starts and stops the recording of this process: boundaries, hooks, child processes, limits."""

from __future__ import annotations

import atexit
import gc
import os
import sys
import time

from rlscope import _native
from rlscope.errors import RecordingError, UsageError
from rlscope.record import progress, small_json
from rlscope.record.blocking import MAY_WAIT, WAITS
from rlscope.record.config import ClockSource, RecordConfig
from rlscope.record.cupti import NSIGHT_COMPUTE_VARIABLE, cupti_directories
from rlscope.record.import_hooks import ImportHooks
from rlscope.record.namespaces import Namespaces
from rlscope.record.native_names import intercept_named
from rlscope.record.replacements import Replacements
from rlscope.record.started_as import is_worker, known_properties, properties_at_end, settings
from rlscope.record.unrecordable import UnrecordableChildren

TYPE_CHECKING = False  # as `typing` has it, whose import takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import ModuleType
    from typing import Any

    from rlscope.model import Category
    from rlscope.record.libraries import Libraries
    from rlscope.record.run.clock_exchange import RemoteClock
    from rlscope.record.run.followed_windows import FollowedWindows
    from rlscope.record.undeclared.iteration_watch import IterationWatch

    Files = Mapping[str, tuple[str, ...]]  # what declares libraries, with the packages for which it is read


class Recorder:
    """The recording of this process."""

    def __init__(
        self, directory: str | Path, config: RecordConfig, files: Files, process_name: str | None = None
    ) -> None:
        self.directory = str(directory)
        self.config = config
        self._process_name = process_name
        self._imports = ImportHooks()
        self._replacements = Replacements()
        self._files = files
        self._packages = tuple(dict.fromkeys(package for packages in files.values() for package in packages))
        self._libraries: Libraries | None = None
        self._iterations_seen = 0
        self._iterations_recorded = 0
        self._started_ns = 0
        self._is_writing = False
        self._is_intercepting = False
        self._windows: FollowedWindows | None = None
        self._wrapped: list[tuple[ModuleType | type, Category]] = []
        self._is_worker = is_worker()
        self._remote_clock: RemoteClock | None = None
        self._watch: IterationWatch | None = None

    def start(self) -> None:
        """Hooks into the program; records at once unless iterations are to be skipped first.

        Raises:
            RecordingError: the trace cannot be written.
        """
        self._imports.install()
        progress.listener = self.on_progress
        progress.sample_listener = _native.record_sample
        if self.config.auto:
            self._replacements.replace(sys.modules["_frozen_importlib"], "_find_and_load", _as_operation)
        self._imports.after_import("multiprocessing.process", self._follow_multiprocessing)
        self._follow_unrecordable_children()
        if self.config.operations:
            self._follow_libraries()
        self._imports.before_packages(self._packages, lambda package: self._follow_libraries().read(package))
        options = "--every" if self.config.every is not None else self.config.iteration_options
        if options and not self._is_worker:
            from rlscope.record.undeclared.iteration_watch import IterationWatch

            self._watch = IterationWatch(options)
            if self.config.auto:
                self._imports.after_import("torch", self._watch.follow_optimizers)
        if self.config.idle:
            self._wait_for_windows()
        elif self._is_delayed():
            _native.arm()
        else:
            self._start_writing()

    def stop(self) -> None:
        """Completes the trace of this process and puts everything back."""
        progress.listener = progress.sample_listener = None
        self._end_watch()
        if self._is_delayed() and self._started_ns == 0:
            from rlscope.record.undeclared.iteration_watch import note_delay

            note_delay(self.directory, self.config.delay_iterations, self._iterations_seen)
        self._stop_writing(_native.END_STOPPED)
        if self._windows is not None:
            self._windows = None
            self._put_back(_native.END_STOPPED)
        self._imports.remove()
        if self._libraries is not None:
            self._libraries.remove()
        self._replacements.restore()

    def on_progress(self, timesteps: int, total_timesteps: int, is_baseline: bool, is_of_library: bool) -> None:
        """Follow what a library or the program reports; from then on iterations are not counted."""
        if self._libraries is not None:
            self._libraries.count_nothing()
            if is_of_library:  # its operations are known: nothing needs to be guessed
                self._libraries.guess_nothing()
        self._note_iteration(timesteps, total_timesteps, is_baseline)

    def _note_iteration(self, timesteps: int, total_timesteps: int = 0, is_baseline: bool = False) -> None:
        """Record an iteration, and start or end the recording where a limit says so."""
        self._end_watch()
        self._iterations_seen += not is_baseline
        if self._windows is not None:
            is_baseline = self._windows.at_iteration(self._iterations_seen, is_baseline) or is_baseline
        if not _native.is_recording():
            if self._is_delayed() and not self._is_writing and self._iterations_seen == self.config.delay_iterations:
                self._start_late(timesteps, total_timesteps)
            return
        _native.record_progress(is_baseline, timesteps, total_timesteps)
        self._iterations_recorded += not is_baseline
        if self._is_limit_reached():
            self._stop_writing(_native.END_LIMIT)
            _native.disable_cuda() if self._windows is None else self._windows.at_limit()

    def _wait_for_windows(self) -> None:
        """Have everything in place from the start, and record what is asked for."""
        from rlscope.record.run.followed_windows import FollowedWindows  # which other runs need not spend time on

        self._intercept()
        _native.arm()
        calls = self._write_file, self._stop_writing, give_up
        self._windows = FollowedWindows(self.directory, self.config, self._is_worker, *calls)
        self._windows.install()

    def _start_late(self, timesteps: int, total_timesteps: int) -> None:
        """Start recording from inside the program's loop, which goes on where that cannot be done."""
        try:
            self._start_writing()
        except RecordingError as error:
            give_up(self.directory, error)
            return
        _native.record_progress(True, timesteps, total_timesteps)

    @property
    def is_over(self) -> bool:
        """Tell whether a recording of this process has ended, by a limit."""
        return self._started_ns > 0 and not self._is_writing and self._windows is None

    def wrap(self, module: ModuleType | type, category: Category) -> int:
        """Intercept the native functions of a module or type, once something records; return how many were found."""
        from rlscope.record.declared.containers import intercept_container, native_functions

        if self._is_intercepting:
            return intercept_container(_name_of(module), module, category, frozenset())
        self._wrapped.append((module, category))
        return sum(1 for _ in native_functions(module))

    def after_fork_in_child(self) -> None:
        """Record the child into a file of its own, with what the parent had intercepted."""
        self._process_name = None
        self._is_worker = True
        self._end_watch()
        self._remote_clock = None  # the parent has asked for this machine
        if self._is_writing:
            self._write_file()
        if self._windows is not None:
            self._windows.after_fork_in_child()

    def rename(self, process_name: str) -> None:
        """Give this process another name in tables and figures."""
        self._process_name = process_name
        if _native.is_recording():
            _native.write_properties(small_json.written({"process_name": process_name}))

    def _end_watch(self) -> None:
        if self._watch is not None:
            self._watch.end()
            self._watch = None

    def _is_delayed(self) -> bool:
        """Only a process that reports iterations can count them: workers record from their start."""
        return self.config.delay_iterations > 0 and not self._is_worker

    def _is_limit_reached(self) -> bool:
        config = self.config if self._windows is None else self._windows.config
        if config.max_iterations is not None and self._iterations_recorded >= config.max_iterations:
            return True
        return config.max_seconds is not None and time.monotonic_ns() - self._started_ns >= config.max_seconds * 1e9

    def _follow_libraries(self) -> Libraries:
        """Follow libraries from the start, even of a delayed recording.

        Callbacks are given, and functions compiled, while libraries are imported.
        """
        if self._libraries is None:
            from rlscope.record.libraries import Libraries  # which most processes that a program starts do not need

            self._libraries = Libraries(self.config, self._imports, self._files, self._note_iteration)
            self._libraries.install()
            if self._is_intercepting:
                self._libraries.intercept()
        return self._libraries

    def _start_writing(self) -> None:
        self._remote_clock = _clock_elsewhere(self.config.clock)
        if self._remote_clock is not None:
            self._remote_clock.ask()  # before anything is recorded, so that the trace holds nothing of it
        self._intercept()
        self._write_file()

    def _intercept(self) -> None:
        """Put in place what records calls."""
        self._is_intercepting = True
        if "wait" in self.config.layers:
            for category, declared in ((_native.WAIT, WAITS), (_native.PYTHON, MAY_WAIT)):
                for library, functions in declared.items():
                    self._imports.after_import(library, _intercepting(functions, category))
        if self._libraries is not None:
            self._libraries.intercept()
        self._imports.after_import("torch", _note_settings)
        if _native.note_garbage_collection not in gc.callbacks:
            gc.callbacks.append(_native.note_garbage_collection)
        # Ends a process without ending the interpreter: what was recorded must be completed before.
        _native.intercept(os._exit, "posix._exit", _native.WAIT)
        _native.note_ended_processes(os.kill, os.killpg)
        for module, category in self._wrapped:
            self.wrap(module, category)

    def _write_file(self) -> None:
        _native.measure_waits("wait" in self.config.layers)
        without_stacks = _look_at_stacks(self.config.stacks_hz)
        directory = self.directory if self._windows is None else self._windows.directory
        try:
            _native.start(directory)
        except OSError as error:
            raise RecordingError(f"cannot write a trace into {directory}: {error.strerror}") from error
        if "cuda" in self.config.layers and NSIGHT_COMPUTE_VARIABLE not in os.environ:
            _native.enable_cuda(cupti_directories())
        self._started_ns = time.monotonic_ns()
        self._iterations_recorded = 0
        self._is_writing = True
        properties: dict[str, Any] = {"python": sys.version.split()[0], "command": sys.orig_argv}
        properties |= {"hostname": os.uname().nodename, **known_properties(), **settings()}
        if self._remote_clock is not None:
            properties["clock"] = self._remote_clock.as_property()
        if self._process_name is not None:
            properties["process_name"] = self._process_name
        if without_stacks:
            properties["without_stacks"] = without_stacks
        _native.write_properties(small_json.written(properties))
        if self._libraries is not None:
            self._libraries.named_operations.write()

    def _stop_writing(self, reason: int) -> None:
        if _native.is_recording():
            if self._remote_clock is not None:
                _native.restore_all()  # the trace holds nothing of asking
                self._remote_clock.ask()
                _native.write_properties(small_json.written({"clock": self._remote_clock.as_property()}))
            found = properties_at_end((*self._packages, "numpy"))  # which all of them use
            _native.write_properties(small_json.written(found))
        self._is_writing = False
        if self._windows is not None:
            _native.pause(reason)
        else:
            self._put_back(reason)

    def _put_back(self, reason: int) -> None:
        _native.stop(reason)  # with the records that CUPTI still has
        _native.restore_all()
        if _native.note_garbage_collection in gc.callbacks:
            gc.callbacks.remove(_native.note_garbage_collection)
        self._is_intercepting = False

    def _follow_multiprocessing(self, module: ModuleType) -> None:
        """Name a child of multiprocessing when it begins to run: it knows its name then, however it was started."""
        self._replacements.replace(module.BaseProcess, "_bootstrap", self._naming)

    def _follow_unrecordable_children(self) -> None:
        children = UnrecordableChildren(self.directory, self._replacements.replace)
        self._imports.after_import("os", children.watch_os)
        namespaces = Namespaces(self._replacements.replace)
        self._imports.after_import("os", namespaces.watch_os)
        self._imports.after_import("ctypes", namespaces.watch_ctypes)
        for module, name in (("_posixsubprocess", "fork_exec"), ("subprocess", "_fork_exec")):
            self._imports.after_import(module, children.watching_fork_exec(name))

    def _naming(self, bootstrap: Callable[..., Any]) -> Callable[..., Any]:
        import functools  # the module that has this method has imported it too

        @functools.wraps(bootstrap)
        def naming(process: Any, *args: Any, **kwargs: Any) -> Any:
            self._process_name = process.name
            if _native.is_recording():
                _native.write_properties(small_json.written({"process_name": process.name, "role": "worker"}))
            return bootstrap(process, *args, **kwargs)

        return naming


def _note_settings(_: ModuleType) -> None:
    if _native.is_recording():
        _native.write_properties(small_json.written(settings()))


def _as_operation(find_and_load: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap what imports a module that is not imported yet. It leaves no frame: the import system cuts its own."""
    scope = _native.operation("import")
    return _native.follow_imports(_native.Hooked(find_and_load, (scope,)), scope)


def _look_at_stacks(hertz: int) -> str:
    """Let stacks be looked at so often a second; return why they are not, empty if they are."""
    try:
        _native.sample_stacks(hertz)
    except OSError as error:
        return f"process_vm_readv failed: {error.strerror}; a container's seccomp profile may forbid it"
    return ""


def _clock_elsewhere(source: ClockSource | None) -> RemoteClock | None:
    """Return the clock to place this process by; None where that is this machine's own, or nobody tells the time."""
    if source is None:
        return None
    from rlscope.boot import boot_id

    if source.boot_id == boot_id():
        return None
    from rlscope.record.run.clock_exchange import RemoteClock  # costs milliseconds that most processes need not spend

    return RemoteClock(source)


def _intercepting(functions: Mapping[str, tuple[str, ...]], category: int) -> Callable[[ModuleType], None]:
    def intercept(_: ModuleType) -> None:
        for names in functions.values():
            intercept_named(names, category)

    return intercept


def _name_of(container: ModuleType | type) -> str:
    return f"{container.__module__}.{container.__qualname__}" if isinstance(container, type) else container.__name__


#: The recording of this process, None where there is none.
active: Recorder | None = None


def activate(directory: str | Path, config: RecordConfig, files: Files, process_name: str | None = None) -> Recorder:
    """Start recording this process.

    Args:
        directory: The trace.
        config: What is recorded.
        files: The modules that declare something of libraries, each with the packages for which it is read.
        process_name: A name for this process in tables and figures.

    Raises:
        UsageError: this process is recorded already.
        RecordingError: the trace cannot be written.
    """
    global active
    if active is not None:
        raise UsageError(
            f"this process is already recorded into {active.directory}. "
            "Use either `rlscope record` or rlscope.profile(), once at a time."
        )
    recorder = Recorder(directory, config, files, process_name)
    recorder.start()
    active = recorder
    _register_once()
    return recorder


def deactivate() -> None:
    """End the recording of this process, if there is one; the program goes on."""
    if active is not None:
        _stop_active()
        _native.disable_cuda()


def _stop_active() -> None:
    global active
    if active is not None:
        recorder, active = active, None
        recorder.stop()


_is_registered = False


def _register_once() -> None:
    global _is_registered
    if not _is_registered:
        _is_registered = True
        atexit.register(_stop_active)  # without taking CUPTI out: it is about to end by itself
        os.register_at_fork(after_in_child=_after_fork_in_child)


def _after_fork_in_child() -> None:
    if active is None:
        return
    try:
        active.after_fork_in_child()
    except RecordingError as error:
        give_up(active.directory, error)


def give_up(directory: str | Path, error: Exception, is_new: bool = True) -> None:
    """Says, on stderr if that is new and in the trace if that is possible, that this process is not recorded."""
    if is_new:
        print(f"rlscope: process {os.getpid()} is not recorded: {error}", file=sys.stderr)
    try:
        from rlscope.trace.manifest import note_unrecorded

        note_unrecorded(directory, str(error))
    except (OSError, ImportError):  # no file can be opened, that of the module neither
        return
