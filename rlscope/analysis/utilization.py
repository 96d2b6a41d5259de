"""What the machine reported while a run was recorded: `utilization.csv`, sampled beside the trace."""

import csv
import io
import stat
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from rlscope.errors import TraceError
from rlscope.trace.utilization_file import HEADER, UTILIZATION_NAME
from rlscope.trace.utilization_file import PROCESSES as PROCESSES

BIN_COLUMNS = ("source", "seconds", "utilization", "memory_bytes")
#: Later times and larger values than any machine has are damage.
LIMIT = 1 << 62


def read_utilization(directory: Path) -> pd.DataFrame:
    """The samples that were taken while the trace in `directory` was recorded.

    Returns:
        One row per sample, by source and time: `monotonic_ns`; `source`, a device's uuid or "processes"; `utilization`
        since the sample before: of a device the reported share of time from 0 to 1, of the processes the number of
        cores that they kept busy; `memory_bytes`, NaN where it is unknown. Empty where nothing was sampled.
        `attrs["damaged_lines"]` says how many lines were left out because they are no samples.

    Raises:
        TraceError: the file may not be read.
    """
    lines = [line for line in _text(directory / UTILIZATION_NAME).split("\n") if line]
    rows = lines[1:] if lines[:1] == [HEADER] else lines
    whole = [row for row in rows if row.count(",") == HEADER.count(",")]
    fields = pd.read_csv(
        io.StringIO("\n".join([HEADER, *whole])),
        dtype=str,
        keep_default_na=False,
        quoting=csv.QUOTE_NONE,
        lineterminator="\n",
    )
    memory = pd.to_numeric(fields["memory_bytes"], errors="coerce")
    table = pd.DataFrame(
        {
            "monotonic_ns": pd.to_numeric(fields["monotonic_ns"], errors="coerce"),
            "source": fields["source"],
            "utilization": pd.to_numeric(fields["utilization"], errors="coerce"),
            "memory_bytes": memory.astype(float),
        }
    )
    is_sample = table["monotonic_ns"].between(0, LIMIT) & table["utilization"].between(0, LIMIT)
    is_sample &= (fields["source"] != "") & (memory.between(0, LIMIT) | (fields["memory_bytes"] == ""))
    table = table[is_sample].astype({"monotonic_ns": np.int64, "utilization": float})
    table = table.sort_values(["source", "monotonic_ns"], kind="stable", ignore_index=True)
    table.attrs["damaged_lines"] = len(rows) - len(table)
    return table


def mean_utilization(directory: Path, start_ns: int, end_ns: int) -> dict[str, float]:
    """The mean reported utilisation of each device, by uuid, between two times of CLOCK_MONOTONIC.

    Each sample counts for the time since the one before it. Of a device's samples at 0 s, 1 s and 4 s with 0.5, 0.2 and
    0.6 the mean from 0 s to 4 s is (1 * 0.2 + 3 * 0.6) / 4 = 0.5. Devices without a sample there are left out.

    Raises:
        TraceError: the file may not be read.
    """
    table = read_utilization(directory)
    means = {}
    devices = table[table["source"] != PROCESSES]
    for source, (share,) in utilization_in_parts(devices, np.array([start_ns, end_ns])).items():
        if np.isnan(share):  # a run so short that there was one sample
            is_here = (table["source"] == source) & table["monotonic_ns"].between(start_ns, end_ns)
            share = table.loc[is_here, "utilization"].mean()
        if not np.isnan(share):
            means[source] = float(share)
    return means


def utilization_in_parts(table: pd.DataFrame, borders_ns: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[np.float64]]:
    """The mean utilisation in each part of a run, by device's uuid or "processes"; NaN where it was not sampled.

    Args:
        table: as from `read_utilization`. Each sample counts for the time since the one before it.
        borders_ns: of the parts, one more than there are parts, in order; on CLOCK_MONOTONIC.
    """
    found = {}
    for source, samples in table.groupby("source", sort=True):
        times_ns = samples["monotonic_ns"].to_numpy()
        since_ns = times_ns - times_ns[0]
        lengths_ns = np.diff(since_ns, prepend=0)
        sums = np.cumsum(samples["utilization"].to_numpy() * lengths_ns)
        covered_ns = np.clip(borders_ns - times_ns[0], 0, since_ns[-1])
        sampled_ns = np.diff(covered_ns)
        sampled = np.diff(np.interp(covered_ns, since_ns, sums))
        found[str(source)] = np.where(sampled_ns > 0, sampled / np.maximum(sampled_ns, 1), np.nan)
    return found


def binned_utilization(table: pd.DataFrame, bins: int) -> pd.DataFrame:
    """The samples in equal parts of the time that they span, for a figure.

    Args:
        table: as from `read_utilization`.
        bins: how many parts at most.

    Returns:
        One row per source and part in which it has samples: `source`; `seconds` since the first sample of all, the
        middle of the part; the mean `utilization` of the samples in it and the largest `memory_bytes`.
    """
    if table.empty:
        return pd.DataFrame(columns=list(BIN_COLUMNS))
    since_ns = table["monotonic_ns"] - table["monotonic_ns"].min()
    width_ns = max(int(since_ns.max()) // bins + 1, 1)
    parts = table.assign(part=since_ns // width_ns)
    binned = parts.groupby(["source", "part"], as_index=False).agg({"utilization": "mean", "memory_bytes": "max"})
    return binned.assign(seconds=(binned["part"] + 0.5) * width_ns / 1e9)[list(BIN_COLUMNS)]


def _text(path: Path) -> str:
    """The file's whole lines; empty where there is no file."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise TraceError(f"{path} is no regular file; delete it and analyze again")
        text = path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise TraceError(f"the samples of utilisation could not be read: {error}; make them readable") from error
    if text and not text.endswith("\n"):
        text += ",cut off"  # within a number: what is left may look like one
    return text.replace("\0", "?")
