"""A process of a run that waits for windows: which one it is asked to record, and where that begins and ends."""

from __future__ import annotations

import time

from rlscope import _native
from rlscope.errors import RecordingError, RLScopeError
from rlscope.record import small_json
from rlscope.record.config import RecordConfig
from rlscope.record.run.requests import PAGE_BYTES, RequestsPage, follow_requests
from rlscope.trace.windows import window_of

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

#: So often a process that records looks whether `rlscope record` still lives: nobody else would end the window.
LOOKS_FOR_RECORD_NS = 60_000_000_000


class FollowedWindows:
    """Follows the requests of a run. The program goes on where a window cannot be recorded.

    Args:
        run: The directory of the run.
        config: How the run is recorded.
        is_worker: Whether this process reports no iterations, so that it need not wait for one.
        begin: Records into `directory` from now on.
        end: Ends the recording, if there is one; given why, as in trace_format.h.
        complain: Says that a window is not recorded, given its directory, why, and whether that is new.

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
        complain: Callable[[str, Exception, bool], object],
    ) -> None:
        self._run = run
        self._page = RequestsPage(memoryview(bytearray(PAGE_BYTES)), made_by=0)  # until `install`, nothing is asked for
        self._every = config.every
        self._slow: SlowIterations | None = None
        if config.on_slow is not None:
            from rlscope.record.run.slow_iterations import SlowIterations

            self._slow = SlowIterations(run, config.on_slow)
        self._has_lost_slow = False
        self._is_worker = is_worker
        self._begin_recording = begin
        self._end_recording = end
        self._complain = complain
        self._number = 0
        self._own_number = 0  # of the last window that this process asked for itself
        self._iterations = 0
        self._waits_for_iteration = False
        self._has_iteration = False  # one has begun since the recording did, so the next one reported is a whole one
        self._ends_ns: int | None = None  # when the window is as long as it is to be
        self._due_ns: int | None = None  # when to look whether the window is over
        self._leaves_cupti_ns: int | None = None  # when, unless the next window comes first
        self._reported_ns: int | None = None  # when the last iteration ended
        self.directory = run
        self.config = RecordConfig()

    def install(self) -> None:
        """Follow requests from now on, that of before too.

        Raises:
            RecordingError: what is requested cannot be known.
        """
        self._page = follow_requests(self._run, self.follow)
        self.follow()

    def follow(self) -> None:
        """Begin or end a window, as is asked for, or as its limits say."""
        number = self._page.asked
        if number == self._number or self._finishes_iteration(number):
            if self._due_ns is not None and time.monotonic_ns() >= self._due_ns:
                self._end_if_over()
            return
        self._number = number
        _native.followed(number)
        self._waits_for_iteration = self._has_iteration = False
        self._look_again_at(None)
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
            self._fail(error)
            return
        if self.config.max_iterations is not None and not self._is_worker:
            self._waits_for_iteration = True
        else:
            self._begin()

    def _finishes_iteration(self, number: int) -> bool:
        """Tell whether the window is over for others, and this process goes on until its own iteration ends."""
        is_over = self._page.reached == self._number == number - 1
        if not is_over or not self._has_iteration or self.config.max_iterations is None:
            return False
        self.config.max_iterations = 1  # it is the last one
        return True

    def at_iteration(self, iterations: int, is_baseline: bool) -> bool:
        """Follow requests where an iteration ends and the next begins.

        Args:
            iterations: How many have ended.
            is_baseline: Whether none has ended now.

        Returns:
            Whether the next one is the first whole one of the recording.
        """
        self._iterations = iterations
        if iterations > self._page.iterations:
            self._page.iterations = iterations
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
            except OSError as error:  # the disk may be full now, and not for the next one
                if not self._has_lost_slow:
                    self._complain(self._run, error, True)
                self._has_lost_slow = True
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
        """End the window for all processes of the run: what was asked for has been recorded."""
        self._page.reached = self._number
        self._end_for_all()

    def _end_for_all(self) -> None:
        self._has_iteration = False
        _native.ask(self._number, self._number + 1)  # unless somebody else has
        self.follow()

    def _ask_if_ready(self) -> None:
        """Ask all processes for the window that `rlscope record` has made ready, unless one is being recorded."""
        number = self._page.asked + 1
        if self._page.ready == number and _native.ask(number - 1, number):
            self._own_number = number

    def _end_if_over(self) -> None:
        """End a window that is as long as it is to be, or that nobody looks after any more."""
        now_ns = time.monotonic_ns()
        is_long = self._ends_ns is not None and now_ns >= self._ends_ns
        if not is_long and self._is_looked_after():
            self._look_again_at(now_ns)
            return
        self._look_again_at(None)
        if _native.is_recording():
            self._end_recording(_native.END_LIMIT if is_long else _native.END_STOPPED)
        self._end_for_all()

    def _is_looked_after(self) -> bool:
        """Tell whether `rlscope record` lives, and its directory is there."""
        from pathlib import Path

        from rlscope.record.run.trace_files import is_held
        from rlscope.trace.manifest import UNRECORDED_NAME

        try:
            return is_held(Path(self._run, UNRECORDED_NAME), self._page.made_by)
        except OSError:  # there may be no descriptor for the question
            return True

    def _look_again_at(self, now_ns: int | None) -> None:
        """Look, a while from now, whether the window is over; with None not any more."""
        self._due_ns = None
        if now_ns is not None:
            self._due_ns = now_ns + LOOKS_FOR_RECORD_NS
            if self._ends_ns is not None:
                self._due_ns = min(self._due_ns, self._ends_ns)
        _native.look_again_at(self._due_ns)

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
            self._fail(error)
            return
        _native.write_properties(small_json.written({"iterations_before": self._iterations}))
        now_ns, seconds = time.monotonic_ns(), self.config.max_seconds
        self._ends_ns = None if seconds is None else now_ns + int(seconds * 1e9)
        self._look_again_at(now_ns)

    def _fail(self, error: Exception) -> None:
        """Say that the window is not recorded. It ends for all if nobody else would end it."""
        cause = error if isinstance(error, OSError) else error.__cause__
        is_new = _native.note_failure((cause.errno or 0) if isinstance(cause, OSError) else 0)
        self._complain(self.directory, error, is_new)
        if self._own_number == self._number:
            self._end_for_all()
