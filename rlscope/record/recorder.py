"""Starts and stops the recording of this process: boundaries, hooks, child processes, limits."""

import atexit
import contextlib
import functools
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from rlscope import _native
from rlscope.boundaries import BOUNDARIES
from rlscope.errors import RecordingError, RLScopeError, UsageError
from rlscope.integrations import HOOKS, PROFILERS
from rlscope.integrations.single_file import SingleFileScripts
from rlscope.model import Category
from rlscope.record import progress
from rlscope.record.boot import boot_id
from rlscope.record.boundary import Boundary, intercept, intercept_container, native_functions, resolve
from rlscope.record.config import HOW_TO_REPORT, ClockSource, RecordConfig
from rlscope.record.cupti import NSIGHT_COMPUTE_VARIABLE, cupti_directories
from rlscope.record.hooks import Hooks
from rlscope.record.import_hooks import ImportHooks
from rlscope.record.iteration_watch import IterationWatch
from rlscope.record.named_operations import NamedOperations
from rlscope.record.started_as import is_worker, known_properties
from rlscope.record.unrecordable import UnrecordableChildren
from rlscope.trace.manifest import note_unrecorded, read_manifest

if TYPE_CHECKING:
    from rlscope.record.clock_exchange import RemoteClock

END_STOPPED = 1
END_LIMIT = 4

#: Libraries whose versions go into the trace, if the program has imported them.
VERSIONED = (
    "torch",
    "numpy",
    "stable_baselines3",
    "sb3_contrib",
    "gymnasium",
    "mujoco",
    "pybullet",
    "tensorflow",
    "jax",
    "ray",
)


class Recorder:
    """The recording of this process."""

    def __init__(self, directory: Path, config: RecordConfig, process_name: str | None = None) -> None:
        self.directory = directory
        self.config = config
        self._process_name = process_name
        self._imports = ImportHooks()
        self._hooks = Hooks()
        self._named_operations = NamedOperations(config.operations, self._hooks, self._imports)
        self._single_file_scripts = SingleFileScripts()
        self._iterations_seen = 0
        self._iterations_recorded = 0
        self._started_ns = 0
        self._is_writing = False
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
        self._imports.after_import("multiprocessing.process", self._follow_multiprocessing)
        self._follow_unrecordable_children()
        for boundary in self._boundaries():
            self._follow(boundary)
        if self.config.auto:
            for hook in HOOKS:
                self._imports.after_import(hook.module, functools.partial(self._hooks.apply, hook))
            self._imports.after_import("torch", self._single_file_scripts.install)
        self._named_operations.install()
        if "cuda" in self.config.layers:
            for profiler in PROFILERS:
                for module in profiler.modules:
                    self._imports.after_import(module, functools.partial(self._hooks.lend_cupti, hook=profiler))
        options = self.config.iteration_options
        if options and not self._is_worker:
            self._watch = IterationWatch(options)
            if self.config.auto:
                self._imports.after_import("torch", self._watch.follow_optimizers)
        if self._is_delayed():
            _native.arm()
        else:
            self._start_writing()

    def stop(self) -> None:
        """Completes the trace of this process and puts everything back."""
        progress.listener = None
        self._end_watch()
        self._note_delay()
        self._stop_writing(END_STOPPED)
        self._imports.remove()
        self._named_operations.remove()
        self._hooks.restore()
        self._single_file_scripts.remove()

    def on_progress(self, timesteps: int, total_timesteps: int, is_baseline: bool) -> None:
        """Records an iteration, and starts or ends the recording where a limit says so."""
        self._end_watch()
        if is_baseline:  # from a library that knows its operations: nothing needs to be guessed
            self._single_file_scripts.remove()
        self._iterations_seen += not is_baseline
        if not _native.is_recording():
            if self._is_delayed() and not self._is_writing and self._iterations_seen == self.config.delay_iterations:
                self._start_late(timesteps, total_timesteps)
            return
        _native.record_progress(is_baseline, timesteps, total_timesteps)
        self._iterations_recorded += not is_baseline
        if self._is_limit_reached():
            self._stop_writing(END_LIMIT)
            _native.disable_cuda()

    def _start_late(self, timesteps: int, total_timesteps: int) -> None:
        """Starts recording from inside the program's loop, which goes on where that cannot be done."""
        try:
            self._start_writing()
        except RecordingError as error:
            give_up(self.directory, error)
            return
        _native.record_progress(True, timesteps, total_timesteps)

    @property
    def is_over(self) -> bool:
        """Whether a recording of this process has ended, by a limit."""
        return self._started_ns > 0 and not self._is_writing

    def wrap(self, module: ModuleType | type, category: Category) -> int:
        """Intercepts the native functions of a module or type, once something records. Returns how many were found."""
        if self._is_writing:
            name = module.__name__ if isinstance(module, ModuleType) else f"{module.__module__}.{module.__qualname__}"
            return intercept_container(name, module, category, frozenset())
        self._wrapped.append((module, category))
        return sum(1 for _ in native_functions(module))

    def after_fork_in_child(self) -> None:
        """The child records into a file of its own, with what the parent had intercepted."""
        self._process_name = None
        self._is_worker = True
        self._end_watch()
        self._remote_clock = None  # the parent has asked for this machine
        if self._is_writing:
            self._write_file()

    def rename(self, process_name: str) -> None:
        """Gives this process another name in tables and figures."""
        self._process_name = process_name
        if _native.is_recording():
            _native.write_properties(json.dumps({"process_name": process_name}))

    def _end_watch(self) -> None:
        if self._watch is not None:
            self._watch.end()
            self._watch = None

    def _note_delay(self) -> None:
        """Says in the trace why the command itself is not part of it, if it reported too few iterations."""
        if not self._is_delayed() or self._started_ns > 0:
            return
        wanted, seen = self.config.delay_iterations, self._iterations_seen
        with contextlib.suppress(OSError, RLScopeError):
            if read_manifest(self.directory).get("main_pid") != os.getpid():
                return
            note_unrecorded(
                self.directory,
                f"recording was to start after {wanted} iteration{'s' * (wanted > 1)}, but {seen} "
                f"{'was' if seen == 1 else 'were'} reported; {HOW_TO_REPORT}",
            )

    def _is_delayed(self) -> bool:
        """Only a process that reports iterations can count them: workers record from their start."""
        return self.config.delay_iterations > 0 and not self._is_worker

    def _is_limit_reached(self) -> bool:
        config = self.config
        if config.max_iterations is not None and self._iterations_recorded >= config.max_iterations:
            return True
        return config.max_seconds is not None and time.monotonic_ns() - self._started_ns >= config.max_seconds * 1e9

    def _boundaries(self) -> list[Boundary]:
        return [boundary for boundary in BOUNDARIES if boundary.category.label in self.config.layers]

    def _follow(self, boundary: Boundary) -> None:
        """From the start, even of a delayed recording: callbacks are given, and functions compiled, at import."""
        for name, owner, method in boundary.callbacks:
            self._imports.after_import(name, functools.partial(self._hooks.mark_callback, owner=owner, name=method))
        for name, given, taker in boundary.registered:
            self._imports.after_import(name, functools.partial(self._hooks.mark_registered, name=given, taker=taker))
        for name, *path in boundary.callback_takers:
            self._imports.after_import(name, functools.partial(self._hooks.mark_given_callbacks, path=tuple(path)))
        for maker in boundary.makers:
            intercept_made = functools.partial(self._hooks.intercept_made, maker=maker, category=boundary.category)
            self._imports.after_import(maker.module, intercept_made)
        for loader in boundary.loaders:
            intercept_loaded = functools.partial(
                self._hooks.intercept_loaded, loader=loader, category=boundary.category
            )
            self._imports.after_import(loader.module, intercept_loaded)

    def _start_writing(self) -> None:
        self._remote_clock = _clock_elsewhere(self.config.clock)
        if self._remote_clock is not None:
            self._remote_clock.ask()  # before anything is recorded, so that the trace holds nothing of it
        for boundary in self._boundaries():
            self._imports.after_import(boundary.library, functools.partial(self._intercept, boundary))
        # Ends a process without ending the interpreter: what was recorded must be completed before.
        _native.intercept(os._exit, "posix._exit", Category.WAIT)
        self._write_file()
        for module, category in self._wrapped:
            self.wrap(module, category)

    def _write_file(self) -> None:
        _native.measure_waits("wait" in self.config.layers)
        try:
            _native.start(self.directory)
        except OSError as error:
            raise RecordingError(f"cannot write a trace into {self.directory}: {error.strerror}") from error
        if "cuda" in self.config.layers and NSIGHT_COMPUTE_VARIABLE not in os.environ:
            _native.enable_cuda(cupti_directories())
        self._started_ns = time.monotonic_ns()
        self._is_writing = True
        properties: dict[str, Any] = {"python": sys.version.split()[0], "command": sys.orig_argv}
        properties["hostname"] = os.uname().nodename
        properties.update(known_properties())
        if self._remote_clock is not None:
            properties["clock"] = self._remote_clock.as_property()
        if self._process_name is not None:
            properties["process_name"] = self._process_name
        _native.write_properties(json.dumps(properties))
        self._named_operations.write()

    def _stop_writing(self, reason: int) -> None:
        if _native.is_recording():
            if self._remote_clock is not None:
                _native.restore_all()  # the trace holds nothing of asking
                self._remote_clock.ask()
                _native.write_properties(json.dumps({"clock": self._remote_clock.as_property()}))
            versions = {name: sys.modules[name].__version__ for name in VERSIONED if _has_version(name)}
            threads = {str(thread.native_id): thread.name for thread in threading.enumerate()}
            _native.write_properties(json.dumps({"versions": versions, "threads": threads}))
        self._is_writing = False
        _native.stop(reason)  # with the records that CUPTI still has
        _native.restore_all()

    def _intercept(self, boundary: Boundary, module: ModuleType) -> None:
        intercept(boundary)
        for dotted in boundary.indexed:
            indexed = resolve(dotted)
            if isinstance(indexed, type):
                self._intercept_indexing(indexed, dotted, boundary.category)

    def _intercept_indexing(self, base: type, name: str, category: Category) -> None:
        """Each subclass has slots of its own, filled when it is made, from the base's original function."""
        _native.intercept_indexing(base, name, category)
        owners: list[type] = type.__subclasses__(base)
        for owner in owners:
            self._hooks.on_subclasses(owner, lambda cls: _intercept_slots(cls, name, category))

    def _follow_multiprocessing(self, module: ModuleType) -> None:
        """A child of multiprocessing knows its name when it begins to run, however it was started."""
        self._hooks.replace(module.BaseProcess, "_bootstrap", self._naming)

    def _follow_unrecordable_children(self) -> None:
        children = UnrecordableChildren(self.directory, self._hooks.replace)
        self._imports.after_import("os", children.watch_os)
        for module, name in (("_posixsubprocess", "fork_exec"), ("subprocess", "_fork_exec")):
            self._imports.after_import(module, functools.partial(children.watch_fork_exec, name=name))

    def _naming(self, bootstrap: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(bootstrap)
        def naming(process: Any, *args: Any, **kwargs: Any) -> Any:
            self._process_name = process.name
            if _native.is_recording():
                _native.write_properties(json.dumps({"process_name": process.name, "role": "worker"}))
            return bootstrap(process, *args, **kwargs)

        return naming


def _clock_elsewhere(source: ClockSource | None) -> "RemoteClock | None":
    """The clock to place this process by; None where that is this machine's own, or nobody tells the time."""
    if source is None or source.boot_id == boot_id():
        return None
    from rlscope.record.clock_exchange import RemoteClock  # costs milliseconds that most processes need not spend

    return RemoteClock(source)


def _intercept_slots(owner: type, name: str, category: Category) -> None:
    _native.intercept_indexing(owner, name, category)


#: The recording of this process, None where there is none.
active: Recorder | None = None


def activate(directory: Path, config: RecordConfig, process_name: str | None = None) -> Recorder:
    """Starts recording this process.

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
    recorder = Recorder(directory, config, process_name)
    recorder.start()
    active = recorder
    _register_once()
    return recorder


def deactivate() -> None:
    """Ends the recording of this process, if there is one; the program goes on."""
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


def give_up(directory: Path, error: Exception) -> None:
    """Says, on stderr and in the trace if that is possible, that this process is not recorded."""
    print(f"rlscope: process {os.getpid()} is not recorded: {error}", file=sys.stderr)
    with contextlib.suppress(OSError):
        note_unrecorded(directory, str(error))


def _has_version(name: str) -> bool:
    return isinstance(getattr(sys.modules.get(name), "__version__", None), str)
