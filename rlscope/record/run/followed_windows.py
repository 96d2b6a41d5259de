"""A process of a run that waits for windows: which one it is asked to record, and where that begins and ends."""

from __future__ import annotations

import os
import time

from rlscope import _native
from rlscope.errors import RecordingError, RLScopeError
from rlscope.record import small_json
from rlscope.record.config import RecordConfig
from rlscope.trace.windows import REQUESTS_NAME, ask, window_of

TYPE_CHECKING = False  # as `typing` has it, whose import takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable

    from rlscope.record.run.slow_iterations import SlowIterations


#: CUPTI stays for so long behind a window. It makes each launch up to 1 us slower meanwhile. But leaving it takes 12 ms
#: and leaves 0.2 MB behind, too much for windows that follow each other.
CUPTI_STAYS_NS = 60_000_000_000

#: A process whose iterations take at most so long looks for requests at these and at its operations. Its calls of
#: libraries need not look then, so they are direct ones: going through a trampoline costs cache misses.
LOOKS_AT_ITERATIONS_NS = 60_000_000_000


class FollowedWindows:
    """Follows the requests of a run. The program goes on where a window cannot be recorded.

    Args:
        run: The directory of the run.
        config: How the run is recorded.
        is_worker: Whether this process reports no iterations, so that it need not wait for one.
        begin: Records into `directory` from now on.
        end: Ends the recording, if there is one; given why, as in trace_format.h.
        complain: Says that a window is not recorded, given its directory and why.

    Attributes:
        directory: The trace of the window that is asked for, or was last.
        config: The window's own limits.
    """

    def __init__(
        self,
        run: str,
        config: RecordConfig,
        is_worker: bool,
        begin: Callable[[], object],
        end: Callable[[int], object],
        complain: Callable[[str, Exception], object],
    ) -> None:
        self._run = run
        self._every = config.every
        self._slow: SlowIterations | None = None
        if config.on_slow is not None:
            from rlscope.record.run.slow_iterations import SlowIterations

            self._slow = SlowIterations(run, config.on_slow)
        self._is_worker = is_worker
        self._begin_recording = begin
        self._end_recording = end
        self._complain = complain
        self._number = 0
        self._iterations = 0
        self._waits_for_iteration = False
        self._has_iteration = False  # one has begun since the recording did, so the next one reported is a whole one
        self._leaves_cupti_ns: int | None = None  # when, unless the next window comes first
        self._reported_ns: int | None = None  # when the last iteration ended
        self.directory = run
        self.config = RecordConfig()

    def install(self) -> None:
        """Follow requests from now on, that of before too.

        Raises:
            RecordingError: the file of requests cannot be read.
        """
        path = f"{self._run}/{REQUESTS_NAME}"
        try:
            _native.follow_requests(path, self.follow)
        except OSError as error:
            raise RecordingError(f"what to record cannot be read from {path}: {error.strerror}") from error
        self.follow()

    def follow(self) -> None:
        """Begin or end a window, as is asked for."""
        number = _native.requested()
        if number == self._number:
            return
        self._number = number
        _native.followed(number)
        self._waits_for_iteration = self._has_iteration = False
        if _native.is_recording():
            self._end_recording(_native.END_STOPPED)
        directory = window_of(self._run, number)
        if directory is None:
            self._leaves_cupti_ns = time.monotonic_ns() + CUPTI_STAYS_NS
            return
        self._leaves_cupti_ns = None
        self.directory = directory
        try:
            self.config = RecordConfig.load(directory)
        except (OSError, ValueError, RLScopeError) as error:
            self._complain(directory, error)
            return
        if self.config.max_iterations is not None and not self._is_worker:
            self._waits_for_iteration = True
        else:
            self._begin()

    def at_iteration(self, iterations: int, is_baseline: bool) -> bool:
        """Follow requests where an iteration ends and the next begins.

        Args:
            iterations: How many have ended.
            is_baseline: Whether none has ended now.

        Returns:
            Whether the next one is the first whole one of the recording.
        """
        self._iterations = iterations
        if self._every is not None and not self._is_worker and iterations % self._every == self._every // 2:
            self._ask_if_ready()
        self.follow()
        now_ns = time.monotonic_ns()
        if self._leaves_cupti_ns is not None and now_ns >= self._leaves_cupti_ns:
            self._leaves_cupti_ns = None
            _native.disable_cuda()
        if self._slow is not None and not self._is_worker:
            try:
                self._slow.at_iteration(self._number, is_baseline)
            except OSError as error:
                self._slow = None
                self._complain(self._run, error)
        if self._waits_for_iteration:
            self._waits_for_iteration = False
            self._begin()
        if not _native.is_recording():
            is_soon = now_ns - (self._reported_ns or now_ns) <= LOOKS_AT_ITERATIONS_NS
            _native.pass_by_trampolines() if is_soon else _native.use_trampolines()
        self._reported_ns = now_ns
        is_first = _native.is_recording() and not self._has_iteration
        self._has_iteration |= is_first
        return is_first

    def at_limit(self) -> None:
        """End the window for all processes of the run where this one asked for it."""
        if self._every is not None:
            self._ask(self._number + 1)
            self.follow()

    def _ask_if_ready(self) -> None:
        """Ask all processes for the window that `rlscope record` has made ready, unless one is being recorded."""
        from rlscope.trace.manifest import MANIFEST_NAME  # and json, which other runs need not spend time on

        number = _native.requested() + 1
        directory = window_of(self._run, number)
        if directory is not None and os.path.exists(f"{directory}/{MANIFEST_NAME}"):
            self._ask(number)

    def _ask(self, number: int) -> None:
        try:
            ask(self._run, number)
        except OSError as error:
            self._every = None
            self._complain(self._run, error)

    def after_fork_in_child(self) -> None:
        """Follow what is open; a window that the parent has begun has been begun here too."""
        self._is_worker = True
        _native.use_trampolines()  # it may report no iterations
        if not _native.is_recording():
            _native.arm()

    def _begin(self) -> None:
        _native.use_trampolines()
        try:
            self._begin_recording()
        except RecordingError as error:
            self._complain(self.directory, error)
            return
        _native.write_properties(small_json.written({"iterations_before": self._iterations}))
