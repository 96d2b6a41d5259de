"""The plan of a trial: what `rlscope try` tells each Python that the command starts, through the environment."""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False  # as `typing` has it, whose import takes longer than all of this
if TYPE_CHECKING:
    from typing import Any

#: The plan as JSON. Every Python below the command finds it.
PLAN_VARIABLE = "RLSCOPE_TRIAL_PLAN"
#: Where the first Python of the command has the file of results open, and its number, for those that it starts.
FIRST_VARIABLE = "RLSCOPE_TRIAL_FIRST"
#: For the script, which may ask whether it is only tried.
TRIAL_VARIABLE = "RLSCOPE_TRIAL"
#: What is counted: steps of optimizers; of environments where there is no optimizer.
UPDATES, STEPS = "updates", "steps"


class Plan:
    """One run of the command is to do this.

    Attributes:
        changes: Names of the changes that are made.
        watched: Names of those of which is only noted what they would alter.
        unit: What is counted, UPDATES or STEPS; empty while that is being found out.
        begin: At so many of them the measured part begins; 0 for the first thing that happens.
        end: At so many of them it ends, and the program with it; 0 while that is being found out.
        file: The number of the open file of results, and its device and inode.
    """

    def __init__(
        self,
        changes: tuple[str, ...],
        watched: tuple[str, ...],
        unit: str,
        begin: int,
        end: int,
        file: tuple[int, int, int],
    ) -> None:
        self.changes = tuple(changes)
        self.watched = tuple(watched)
        self.unit = unit
        self.begin = begin
        self.end = end
        self.file = tuple(file)

    def text(self) -> str:
        """Return it as the variable holds it."""
        return json.dumps(vars(self))

    @classmethod
    def parse(cls, text: str) -> Plan:
        """Return the plan that `text` made."""
        return cls(**json.loads(text))


def results_file(plan: Plan) -> tuple[int, int]:
    """Return the open file of results, and the number of the first process of the command that has it.

    Files that are inherited lead out of every name space. Who has not inherited it opens it where the first one has it.

    Raises:
        OSError: Neither can be had.
    """
    number, *wanted = plan.file
    first = os.environ.get(FIRST_VARIABLE)
    if first is None or first == str(os.getpid()):
        found = os.fstat(number)
        if [found.st_dev, found.st_ino] != wanted:
            raise OSError(f"file {number} is not that of the trial")
        os.environ[FIRST_VARIABLE] = str(os.getpid())
        return number, os.getpid()
    opened = os.open(f"/proc/{first}/fd/{number}", os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
    return opened, int(first)


def lines_of(file: int) -> list[dict[str, Any]]:
    """Return what has been written to the file of results so far."""
    size = os.fstat(file).st_size
    return [json.loads(line) for line in os.pread(file, size, 0).splitlines()]
