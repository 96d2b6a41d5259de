"""This file holds the tree of errors that a user can cause, and what `rlscope` says about them.

RLScopeError
├── UsageError          a command or call that cannot be carried out as asked
├── TraceError          a trace that cannot be read
│   ├── TraceFormatError    damaged, or of another format version
│   └── IncompleteTraceError    a part that was asked for is missing
└── RecordingError      recording could not be started
"""


class RLScopeError(Exception):
    """A failure with one line for the user: what was expected, what was found, what to do next.

    Attributes:
        status: What the command line ends with.
    """

    status = 2


class UsageError(RLScopeError):
    """The request cannot be carried out as asked."""


class TraceError(RLScopeError):
    """The trace cannot be read."""


class TraceFormatError(TraceError):
    """The trace is damaged or of another format version."""


class IncompleteTraceError(TraceError):
    """A part of the trace that was asked for is missing."""


class RecordingError(RLScopeError):
    """Recording could not be started."""


def reason_of(error: BaseException) -> str:
    """Return why something failed, as the system says it if it was that: "No space left on device"."""
    reason = error.strerror if isinstance(error, OSError) else None
    return reason or str(error) or type(error).__name__
