"""This file defines a benchmark's result, one line of JSON per metric and peer, and makes tables of results."""

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

import pandas as pd

TABLE_COLUMNS = ["metric", "rlscope", "unit", "target", "reached", "peer", "peer's", "ratio", "note"]


@dataclass(frozen=True)
class Value:
    """A measured number; `low` and `high` are the ends of its 95 % interval, None where it was counted, not timed."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Target:
    """The value to reach; with `is_ceiling` at most that, else at least that."""

    value: float
    is_ceiling: bool = True

    def is_reached_by(self, measured: float) -> bool:
        """Return whether a measured value is as wanted."""
        return measured <= self.value if self.is_ceiling else measured >= self.value


@dataclass(frozen=True)
class Result:
    """One line.

    Attributes:
        metric: what was measured of rlscope.
        value: rlscope's; with `low` and `high`, the ends of its interval.
        unit: of all values.
        target: to be reached by `value`; None where there is none.
        reached: whether it is.
        peer: what rlscope is compared with, None where nothing does the same.
        peer_value: the peer's; None if it could not be measured, `note` says why.
        ratio: value / peer_value.
        note: what one must know to read the line.
    """

    metric: str
    value: float
    low: float | None
    high: float | None
    unit: str
    target: float | None
    reached: bool | None
    peer: str | None = None
    peer_value: float | None = None
    peer_low: float | None = None
    peer_high: float | None = None
    ratio: float | None = None
    note: str | None = None


def results(
    metric: str,
    unit: str,
    measured: Value,
    peers: dict[str, Value] | None = None,
    target: Target | None = None,
    note: str | None = None,
) -> list[Result]:
    """Return one result per peer; one alone where there are no peers."""
    own = Result(
        metric=metric,
        value=measured.value,
        low=measured.low,
        high=measured.high,
        unit=unit,
        target=target.value if target else None,
        reached=target.is_reached_by(measured.value) if target else None,
        note=note,
    )
    if not peers:
        return [own]
    return [
        replace(
            own,
            peer=name,
            peer_value=peer.value,
            peer_low=peer.low,
            peer_high=peer.high,
            ratio=measured.value / peer.value if peer.value else None,
        )
        for name, peer in peers.items()
    ]


def print_results(found: Iterable[Result]) -> None:
    """Print each result as a line of JSON, at once: what was measured is not lost if a later measurement fails."""
    for result in found:
        sys.stdout.write(json.dumps(asdict(result)) + "\n")
        sys.stdout.flush()


def as_table(lines: Iterable[dict[str, object]]) -> pd.DataFrame:
    """Return results as people read them: texts, with rlscope's own value once per metric."""
    rows = []
    before = None
    for line in lines:
        is_first = line["metric"] != before
        before = line["metric"]
        reached = {True: "yes", False: "no", None: ""}[line["reached"]]  # type: ignore[index]
        rows.append(
            {
                "metric": line["metric"] if is_first else "",
                "rlscope": _interval(line, "") if is_first else "",
                "unit": line["unit"] if is_first else "",
                "target": number(line["target"]) if is_first else "",
                "reached": reached if is_first else "",
                "peer": line["peer"] or "",
                "peer's": _interval(line, "peer_"),
                "ratio": number(line["ratio"]),
                "note": line["note"] or "" if is_first else "",
            }
        )
    return pd.DataFrame(
        rows, columns=["metric", "rlscope", "unit", "target", "reached", "peer", "peer's", "ratio", "note"]
    )


def number(value: object) -> str:
    """Return three significant digits, without an exponent; empty for None."""
    if value is None:
        return ""
    measured = float(value)  # type: ignore[arg-type]
    if abs(measured) >= 1000:
        return f"{measured:,.0f}"
    return f"{measured:#.3g}".rstrip(".") if measured else "0"


def _interval(line: dict[str, object], prefix: str) -> str:
    value, low, high = line[prefix + "value" if prefix else "value"], line[prefix + "low"], line[prefix + "high"]
    if value is None or low is None:
        return number(value)
    if line["unit"] == "x":  # slowdowns differ in the third decimal
        return f"{value:.3f} [{low:.3f}, {high:.3f}]"
    return f"{number(value)} [{number(low)}, {number(high)}]"
