"""Writes, reads and checks the calibration of a machine, and chooses one for a trace. Standard library only."""

from __future__ import annotations

import errno
import json
import os
import platform
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlscope.analysis.correction.costs import Bounds, Cost
from rlscope.errors import TraceFormatError, UsageError
from rlscope.outputs import MARK
from rlscope.record.run.machine import machine
from rlscope.text.numbers import count
from rlscope.trace.files import MOST_JSON_BYTES, read_regular
from rlscope.trace.manifest import seal, unsealed, write_in_one_step
from rlscope.version import __version__

if TYPE_CHECKING:
    from rlscope.analysis.correction.corrected import Correction
    from rlscope.trace.reader import Trace

AUTO = "auto"
NONE = "none"
#: From 3 on intervals hold how much programs differ. Those of an older file are too narrow.
SCHEMA = 3
FILE_NAME = "calibration.json"
KINDS = ("operation", "boundary", "cuda")
#: No event costs as many nanoseconds, nor have as many been seen.
LIMIT = 1e18
AGAIN = "run `rlscope calibrate`"


class OldCalibrationError(UsageError):
    """A calibration is of a schema before this one."""


@dataclass(frozen=True)
class Conditions:
    """This is what costs depend on: with another value of these fields they are others.

    Attributes:
        cpu: the processor's name.
        cores: how many the system has.
        clock: what recording reads the time from, "tsc" or "monotonic".
        python: version.
        rlscope: version.
    """

    cpu: str
    cores: int
    clock: str
    python: str
    rlscope: str

    def difference(self, other: Conditions) -> str | None:
        """Return the first field in which the other one differs, with both values; None if there is none."""
        for name, value in asdict(self).items():
            found = getattr(other, name)
            if found != value:
                return f"{name} {value!r} was expected, {found!r} was found"
        return None


@dataclass(frozen=True)
class Calibration:
    """This is what recording costs.

    Attributes:
        made_on: where it was measured.
        made_at: when, UTC.
        versions: of the libraries in whose calls it was measured, and of the GPU's driver where there is one.
        costs: as in `Correction`.
        messages: as there; a file of before forecasts has none.
    """

    made_on: Conditions
    made_at: str
    versions: Mapping[str, str]
    costs: Mapping[str, Cost]
    messages: Mapping[int, Bounds] = field(default_factory=dict)

    def to_json_dict(self) -> dict[str, Any]:
        """Return what the file holds."""
        return {"schema": SCHEMA, **asdict(self)}

    def correction(self, source: str) -> Correction:
        """Return the correction for the analysis; `source` says where the calibration is from."""
        from rlscope.analysis.correction.corrected import Correction  # which a record does without

        return Correction(self.costs, f"{source}, calibrated {self.made_at}", self.versions, self.messages)


def now() -> str:
    """Return the present time as calibrations have it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def conditions_here(clock: str) -> Conditions:
    """Return the conditions of this process, whose recorder reads the given clock."""
    here = machine()
    return Conditions(str(here["cpu"]), int(here["cores"]), clock, platform.python_version(), __version__)


def conditions_of_trace(manifest: Mapping[str, Any], clock: str) -> Conditions:
    """Return where a trace was recorded; fields that its manifest lacks are "unknown"."""
    found = manifest.get("machine")
    here = found if isinstance(found, dict) else {}
    cores = here.get("cores")
    return Conditions(
        cpu=str(here.get("cpu", "unknown")),
        cores=cores if isinstance(cores, int) else 0,
        clock=clock,
        python=str(manifest.get("python", "unknown")),
        rlscope=str(manifest.get("rlscope_version", "unknown")),
    )


def cache_path() -> Path:
    """Return where this user's calibration is kept, by the XDG rules.

    Raises:
        UsageError: the user has no home directory.
    """
    root = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(root):
        root = os.path.expanduser("~/.cache")
    if not os.path.isabs(root):
        raise UsageError("a home directory was expected, but this user has none; set HOME, or name a file")
    return Path(root, "rlscope", FILE_NAME)


def check_writable(path: Path) -> None:
    """Refuse a place where the result cannot be kept, before it is measured.

    Raises:
        UsageError: `save` could not write the file.
    """
    import tempfile  # which a record does without

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path.parent).close()
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    except OSError as error:
        raise _not_writable(error) from error


def _not_writable(error: OSError) -> UsageError:
    return UsageError(f"the calibration cannot be written: {error}; choose another file with -o")


def save(calibration: Calibration, path: Path) -> None:
    """Write the file in one step.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_in_one_step(path, seal({"writer": MARK, **calibration.to_json_dict()}))
    except OSError as error:
        raise _not_writable(error) from error


def load(path: Path) -> Calibration:
    """Read a file that `save` wrote.

    Raises:
        FileNotFoundError: there is none.
        UsageError: it cannot be read, or is no calibration.
    """
    try:
        document = json.loads(read_regular(os.path.realpath(path), MOST_JSON_BYTES))
        if isinstance(document, dict):
            document = unsealed(document, path)
    except FileNotFoundError:
        raise
    except TraceFormatError as error:
        raise UsageError(f"{error}; {AGAIN}") from error
    except OSError as error:
        raise UsageError(f"the calibration cannot be read: {error}; make it readable, or {AGAIN}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: a calibration was expected, but it is not JSON: {error}; {AGAIN} again") from error
    return parse(document, str(path))


def parse(document: object, where: str) -> Calibration:
    """Return the calibration that a JSON document holds.

    Args:
        document: as `Calibration.to_json_dict` made it.
        where: the document is from, for errors.

    Raises:
        OldCalibrationError: it is of a schema before this one.
        UsageError: it is no calibration; names the field that is wrong.
    """
    top = _Fields(where, "", document)
    schema = top.get("schema", int)
    if schema < SCHEMA:
        raise OldCalibrationError(
            f"{where}: a calibration of schema {SCHEMA} was expected, {schema} was found, whose intervals are too "
            f"narrow for other programs than were measured; {AGAIN} again"
        )
    if schema != SCHEMA:
        raise top.wrong("schema", f"{SCHEMA} was expected, {schema} was found")
    made_on = top.inner("made_on")
    versions = top.inner("versions")
    costs = top.inner("costs")
    return Calibration(
        Conditions(
            cpu=made_on.get("cpu", str),
            cores=made_on.get("cores", int),
            clock=made_on.get("clock", str),
            python=made_on.get("python", str),
            rlscope=made_on.get("rlscope", str),
        ),
        top.get("made_at", str),
        {name: versions.get(name, str) for name in versions.names()},
        {key: _parse_cost(costs, key) for key in costs.names()},
        _parse_messages(top.inner("messages")) if "messages" in top.names() else {},
    )


class _Fields:
    """A JSON object whose fields are checked as they are read."""

    def __init__(self, where: str, path: str, value: object) -> None:
        self._where = where
        self._path = path
        if not isinstance(value, dict):
            raise UsageError(f"{where}: {path or 'a calibration'} is to be a JSON object; {AGAIN} again")
        self._values: dict[str, Any] = value

    def names(self) -> list[str]:
        return list(self._values)

    def wrong(self, name: str, what: str) -> UsageError:
        return UsageError(f"{self._where}: of the field {self._path}{name}, {what}; {AGAIN} again")

    def get(self, name: str, kind: type) -> Any:
        value = self._values.get(name)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self.wrong(name, f"a value of the kind {kind.__name__} was expected, {_shown(value)} was found")
        return value

    def inner(self, name: str) -> _Fields:
        return _Fields(self._where, f"{self._path}{name}.", self._values.get(name))

    def number(self, name: str) -> float:
        value = self._values.get(name)
        if not isinstance(value, int | float) or isinstance(value, bool) or not value >= 0:
            raise self.wrong(name, f"a number that is not negative was expected, {_shown(value)} was found")
        if value >= LIMIT:
            raise self.wrong(name, f"a number below {count(LIMIT)} was expected, {_shown(value)} was found")
        return float(value)


def _shown(value: object) -> str:
    return repr(value)[:80]


def _parse_cost(costs: _Fields, key: str) -> Cost:
    if key.partition("@")[0].partition("/")[0] not in KINDS:
        raise costs.wrong(key, f"one of {', '.join(KINDS)} was expected, alone or followed by /NAME or @LIBRARY")
    cost = costs.inner(key)
    parts = [field.name for field in fields(Cost) if field.name.endswith("_ns")]
    return Cost(**{name: _parse_bounds(cost.inner(name)) for name in parts}, events=int(cost.number("events")))


def _parse_messages(messages: _Fields) -> dict[int, Bounds]:
    for name in messages.names():
        if not (name.isascii() and name.isdecimal()) or not 0 < int(name) < LIMIT:
            raise messages.wrong(name, "a number of processes was expected as its name")
    return {int(name): _parse_bounds(messages.inner(name)) for name in messages.names()}


def _parse_bounds(bounds: _Fields) -> Bounds:
    low, mean, high = (bounds.number(name) for name in ("low", "mean", "high"))
    if not low <= mean <= high:
        raise bounds.wrong("mean", f"a number from {low} to {high} was expected, {mean} was found")
    return Bounds(low, mean, high)


def to_record_with() -> dict[str, Any] | None:
    """Return this user's calibration for a trace; None if there is none, or it was made under other conditions.

    Why there is none is said when the trace is analyzed. So is whether the clock is the same, which is chosen later.
    """
    try:
        found = load(cache_path())
    except (FileNotFoundError, UsageError):
        return None
    is_of_here = conditions_here(found.made_on.clock).difference(found.made_on) is None
    return found.to_json_dict() if is_of_here else None


def _users_own(recorded_on: Conditions) -> Correction | str:
    try:
        path = cache_path()
        found = load(path)
    except FileNotFoundError:
        return f"there is no calibration in {path}; {AGAIN}"
    except UsageError as error:
        return str(error)
    difference = recorded_on.difference(found.made_on)
    if difference:
        return f"the calibration in {path} is not of where the trace was recorded: {difference}; {AGAIN} there"
    return found.correction("this user's calibration")


def of_trace(manifest: Mapping[str, Any], clock: str, path: Path | None = None) -> Correction | str:
    """Return what a trace is to be corrected with, or why it cannot be.

    Args:
        manifest: of the trace.
        clock: that it was recorded with.
        path: of the file to use. Without, it is the one that the trace was recorded with, or the user's own, where
            there is none in the trace, or an old one.

    Raises:
        UsageError: the given file, or the calibration in the trace, is damaged or made under other conditions.
    """
    recorded_on = conditions_of_trace(manifest, clock)
    of_trace = manifest.get("calibration")
    if path is not None:
        try:
            found = load(path)
        except FileNotFoundError as error:
            raise UsageError(
                f"a calibration was expected in {path}, but there is no such file; {AGAIN} -o {path}"
            ) from error
        source = str(path)
    elif of_trace is not None:
        try:
            found = parse(of_trace, "the calibration in the trace")
        except OldCalibrationError as error:
            own = _users_own(recorded_on)
            return str(error) if isinstance(own, str) else own
        source = "recorded with the trace"
    else:
        return _users_own(recorded_on)
    difference = recorded_on.difference(found.made_on)
    if difference:
        raise UsageError(f"the calibration ({source}) is not of where the trace was recorded: {difference}; "
                         "calibrate there, or analyze with --correct none")  # fmt: skip
    return found.correction(source)


def chosen(trace: Trace, correct: str) -> Correction | str:
    """Return the correction that is asked for, or why times are not corrected.

    Args:
        trace: the trace whose times are to be corrected.
        correct: `auto` for the calibration that the trace was recorded with or the user's own, `none` for no
            correction, or the file of a calibration.

    Raises:
        UsageError: the calibration is damaged or made under other conditions.
    """
    if correct == NONE:
        return "--correct none was given"
    clock = trace.processes[0].clock_kind.name.lower()
    return of_trace(trace.manifest, clock, None if correct == AUTO else Path(correct))
