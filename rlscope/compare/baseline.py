"""A baseline: what a comparison needs of recorded runs, in a file small enough for a repository."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from rlscope.compare.counts import Count, Counted
from rlscope.compare.run_times import CauseTime, Facts, Place, RunTimes, Unit
from rlscope.errors import TraceError, TraceFormatError, UsageError
from rlscope.outputs import MARK
from rlscope.trace.files import MOST_JSON_BYTES, read_regular

SCHEMA = 1
#: Numbers are kept with so many digits: runs scatter by more than a millionth.
DIGITS = 7


def baseline_text(runs: Sequence[RunTimes]) -> str:
    """Return the file of runs: of each its means, without its single iterations, one run a line.

    Raises:
        UsageError: a run was only timed.
    """
    for run in runs:
        if not run.is_recorded:
            raise UsageError(
                f"a baseline is of recorded runs, but {run.path} was only timed: rlscope bench without --time"
            )
    lines = ",\n".join(json.dumps(_kept(run), separators=(",", ":")) for run in runs)
    return f'{{"comment": "{MARK}", "schema": {SCHEMA}, "runs": [\n{lines}\n]}}\n'


def read_baseline(path: Path) -> list[RunTimes]:
    """Return the runs of such a file. Each has its mean as its only iteration.

    Raises:
        TraceError: it may not be read.
        TraceFormatError: it is not what `rlscope baseline` writes.
    """
    try:
        found = json.loads(read_regular(path, MOST_JSON_BYTES))
        if found["schema"] != SCHEMA:
            raise ValueError(f"schema {SCHEMA} was expected, {found['schema']!r} was found")
        runs = [_run(path, entry) for entry in found["runs"]]
        if not runs:
            raise ValueError("one run or more was expected, none was found")
    except OSError as error:
        raise TraceError(f"{path} could not be read: {error}; make it readable") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise TraceFormatError(
            f"{path} is no baseline: {error!r}; make it anew: rlscope baseline RUNS -o FILE"
        ) from error
    return runs


def _kept(run: RunTimes) -> dict[str, object]:
    return {
        "unit": run.unit.value,
        "seconds": _short(run.mean_s),
        "places": [[*place, _short(mean_s)] for place, mean_s in zip(run.places, run.means_s(), strict=True) if mean_s],
        "first_s": None if run.first_s is None else _short(run.first_s),
        "evaluated": run.evaluated,
        "timesteps": run.timesteps,
        "busy_s": [[device, _short(busy_s)] for device, busy_s in run.busy_s.items()],
        "counts": [[*count, _short(number)] for count, number in run.counts.items()],
        "causes": [[name, _short(cause.seconds), cause.where] for name, cause in run.causes.items()],
        "findings": dict(run.findings),
        "no_core_share": run.no_core_share,
        "corrected": run.corrected,
        "start_ns": run.start_ns,
        "end_ns": run.end_ns,
        "why": run.why,
        "facts": asdict(run.facts),
    }


def _run(path: Path, entry: Mapping[str, Any]) -> RunTimes:
    places, facts = entry["places"], entry["facts"]
    lists = {name: tuple(facts[name]) for name in ("command", "layers", "counters") if facts[name] is not None}
    return RunTimes(
        path=path,
        unit=Unit(entry["unit"]),
        lengths=np.array([float(entry["seconds"])]),
        places=tuple(Place(*map(str, names)) for *names, _ in places),
        kept=1,
        iteration=np.zeros(len(places), np.intp),
        place=np.arange(len(places)),
        seconds=np.array([float(mean_s) for *_, mean_s in places]),
        first_s=_number(entry["first_s"]),
        evaluated=int(entry["evaluated"]),
        timesteps=_number(entry["timesteps"]),
        busy_s={int(device): float(busy_s) for device, busy_s in entry["busy_s"]},
        counts={Count(Counted(what), str(stage), str(name)): float(n) for what, stage, name, n in entry["counts"]},
        causes={str(name): CauseTime(float(seconds), str(where)) for name, seconds, where in entry["causes"]},
        findings={str(code): str(change) for code, change in entry["findings"].items()},
        no_core_share=_number(entry["no_core_share"]),
        corrected=_number(entry["corrected"]),
        start_ns=int(entry["start_ns"]),
        end_ns=int(entry["end_ns"]),
        why=tuple(map(str, entry["why"])),
        facts=Facts(**(facts | lists)),
    )


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
