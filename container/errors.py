"""This file holds the errors that run_docker.py says in one line: what was expected, what was found, what to do next.

RunDockerError
├── UsageError          the command line or the host must change
└── ContainerError      the engine, a build or a container failed
"""

#: `docker run` ends with this status where the engine fails and not the command.
ENGINE_FAILED = 125


class RunDockerError(Exception):
    """A failure with one line for the user.

    Attributes:
        status: The exit status that run_docker.py ends with.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class UsageError(RunDockerError):
    """The request cannot be carried out as asked, or not on this host as it is."""

    def __init__(self, message: str) -> None:
        super().__init__(message, 2)


class ContainerError(RunDockerError):
    """The engine, a build or a container failed."""

    def __init__(self, message: str, status: int = ENGINE_FAILED) -> None:
        super().__init__(message, status)
