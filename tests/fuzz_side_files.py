"""Gives the readers of all files of a trace but the events damaged ones.

To be run from the checkout: `PYTHONPATH=. .venv/bin/python tests/fuzz_side_files.py --runs 1000000 --seed 1`.

Each input must be read, or refused by an error of rlscope's own, within time and memory; another one is kept and told.
"""

import argparse
import json
import random
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from adversary_runs import MANIFEST, TooLongError, limits, small_trace

from benchmarks.trace_writer import ProcessWriter, TraceWriter
from rlscope.analysis.analysis import make_analysis
from rlscope.analysis.contents import read_contents
from rlscope.analysis.counters.counters import counters_of
from rlscope.analysis.devices.devices import devices_of
from rlscope.analysis.sweep import sweep_trace
from rlscope.analysis.utilization import binned_utilization, mean_utilization, read_utilization
from rlscope.calibration.calibration import load, of_trace
from rlscope.errors import RLScopeError
from rlscope.record.config import RecordConfig
from rlscope.report.sentences import inspect_lines
from rlscope.trace.counter_metrics import parse_counters, sampled_metrics
from rlscope.trace.counters_file import CounterWriter
from rlscope.trace.manifest import UNRECORDED_NAME, read_unrecorded
from rlscope.trace.reader import open_trace
from rlscope.trace.utilization_file import UTILIZATION_NAME

SECONDS, BYTES = 5.0, 1 << 29
ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1.5, 1 << 63, -(1 << 63), 1 << 64, 10**400, 1e308, float("inf"), float("nan"), "", "x", "\ud800",
    "=1+1", "\0", [], {}, [[]], {"": None},
)  # fmt: skip
ODD_BYTES = (
    b"\0", b"\xff" * 8, b"\0" * 8, b"\x7f" + b"\xff" * 7, b"\xed\xa0\x80", b"\r", b"\n", b",", b'"', b"[" * 2000, b"{}",
    b"-", b"1e999", b"NaN", b"999999999999999999999", b"\xff\xfe", b"\xff\xff\xff\x7f",
    np.float64(1e300).tobytes(), np.float64(-1).tobytes(), np.float64("inf").tobytes(),
)  # fmt: skip


def damaged(data: bytes, chance: random.Random) -> bytes:
    """With some bytes changed, put in, left out, or twice."""
    found = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 4, 16))):
        start = chance.randrange(len(found) + 1)
        end = min(len(found), start + chance.choice((0, 1, 1, 4, 8, 64, 1000)))
        match chance.randrange(6):
            case 0:
                found[start:end] = chance.randbytes(end - start)
            case 1:
                found[start:end] = chance.choice(ODD_BYTES)
            case 2:
                del found[start:end]
            case 3:
                found[start:start] = found[start:end] * chance.choice((1, 1, 3, 50))
            case 4 if start < len(found):
                found[start] ^= 1 << chance.randrange(8)
            case _ if chance.random() < 0.1:
                del found[start:]
    return bytes(found)


def odd_json(value: object, chance: random.Random) -> object:
    """With something else in one place."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice(list(value))
        changed = dict(value)
        kept = changed.pop(key)
        if chance.random() < 0.9:
            changed[key if chance.random() < 0.95 else str(chance.choice(ODD))] = odd_json(kept, chance)
        return changed
    if isinstance(value, list) and value and chance.random() < 0.8:
        place = chance.randrange(len(value))
        return [*value[:place], odd_json(value[place], chance), *value[place + 1 :]]
    return chance.choice(ODD)


def json_inputs(value: object, chance: random.Random) -> Iterator[bytes]:
    """Half of them are JSON still."""
    text = json.dumps(value).encode()
    while True:
        yield damaged(text, chance)
        yield json.dumps(odd_json(value, chance)).encode()


def byte_inputs(data: bytes, chance: random.Random) -> Iterator[bytes]:
    """Of a file that is no JSON."""
    while True:
        yield damaged(data, chance)


@dataclass(frozen=True)
class Target:
    """A kind of file.

    Attributes:
        share: of all inputs.
        inputs: damaged ones.
        read: what reads one.
    """

    share: float
    inputs: Iterator[bytes]
    read: Callable[[bytes], None]


def targets(place: Path, chance: random.Random) -> dict[str, Target]:
    """All kinds of files, in a trace of its own each."""
    full_manifest = MANIFEST | {
        "exit_status": 0, "start": {"monotonic_ns": 1, "realtime_ns": 2}, "end": {"monotonic_ns": 9, "realtime_ns": 9},
        "machine": {"hostname": "box", "cpu": "x", "cores": 2, "memory_bytes": 1, "kernel": "6", "boot_id": "0" * 32},
        "python": "3.11", "counters": {"devices": [{"uuid": "GPU-1", "samples": 1, "lost_samples": 0}], "error": None},
    }  # fmt: skip
    costs = {
        key: {name: {"low": 0, "mean": 1, "high": 2} for name in COST_PARTS} | {"events": 10}
        for key in ("operation", "boundary/torch", "cuda")
    }
    calibration = {
        "schema": 2, "made_at": "2026-01-01T00:00:00Z", "versions": {"torch": "2"}, "costs": costs,
        "made_on": {"cpu": "x", "cores": 2, "clock": "monotonic", "python": "3.11", "rlscope": "0.1.0"},
    }  # fmt: skip
    names = ("manifest", "config", "unrecorded", "utilization", "counters")
    traces = {name: small_trace(place / name) for name in names}
    RecordConfig(counters=("sm_efficiency",)).save(traces["config"])
    config = json.loads((traces["config"] / "config.json").read_text())
    swept = sweep_trace(open_trace(traces["counters"]))
    devices, breakdown = devices_of(swept), make_analysis(swept).breakdown

    def read_manifest(data: bytes) -> None:
        (traces["manifest"] / "manifest.json").write_bytes(data)
        for recover in (False, True):
            trace = open_trace(traces["manifest"], recover)
            inspect_lines(trace.directory, trace.manifest)
            of_trace(trace.manifest, "monotonic", None)

    def read_config(data: bytes) -> None:
        (traces["config"] / "config.json").write_bytes(data)
        inspect_lines(traces["config"], MANIFEST)

    def read_list(data: bytes) -> None:
        (traces["unrecorded"] / UNRECORDED_NAME).write_bytes(data)
        read_unrecorded(traces["unrecorded"])

    def read_samples(data: bytes) -> None:
        (traces["utilization"] / UTILIZATION_NAME).write_bytes(data)
        binned_utilization(read_utilization(traces["utilization"]), 100)
        mean_utilization(read_utilization(traces["utilization"]), 0, 1 << 62)

    def read_counter_samples(data: bytes) -> None:
        (traces["counters"] / "counters-GPU-1.arrows").write_bytes(data)
        counters_of(swept, devices, breakdown, recover=chance.random() < 0.5)

    def read_properties(data: bytes) -> None:
        (place / "notes").mkdir(exist_ok=True)
        (place / "notes" / "41-0.rlscope").write_bytes(with_properties(data))
        for recover in (False, True):
            read_contents(open_trace(place / "notes", recover), recover)

    def read_calibration(data: bytes) -> None:
        (place / "calibration.json").write_bytes(data)
        load(place / "calibration.json").correction("a file").of_process({"torch": "2"}, 1)

    kept = full_manifest | {"calibration": calibration}
    return {
        "manifest.json": Target(25, json_inputs(kept, chance), read_manifest),
        "config.json": Target(25, json_inputs(config, chance), read_config),
        "unrecorded.txt": Target(20, byte_inputs(b"77 a reason\n" * 30, chance), read_list),
        "utilization.csv": Target(
            1.5, byte_inputs((traces["utilization"] / UTILIZATION_NAME).read_bytes() * 5, chance), read_samples
        ),
        "counters-*.arrows": Target(2.5, byte_inputs(counter_file(place), chance), read_counter_samples),
        "notes of processes": Target(0.5, json_inputs(PROPERTIES, chance), read_properties),
        "calibration.json": Target(25, json_inputs(calibration, chance), read_calibration),
    }


COST_PARTS = ("records_inside_ns", "records_outside_ns", "rest_outside_ns", "rest_inside_ns")
PROPERTIES = {
    "process_name": "sample", "role": "worker", "python": "3.11", "versions": {"torch": "2"}, "threads": {"41": "main"},
    "command": ["python"], "hostname": "box", "amplification": 1, "named_operations": {"simulation=a:b": None},
    "clock": {"exchanges": [{"monotonic_ns": 1, "offset_ns": 2, "error_ns": 3}], "unanswered": 0},
    "devices": {"0": {"uuid": "GPU-1", "name": "H200", "compute_capability": "9.0", "number": 3}},
    "cuda": {"state": "recorded", "driver_version": 13000, "cupti_version": 130001, "cupti_path": "x", "error": None},
}  # fmt: skip


def with_properties(text: bytes) -> bytes:
    """A process file whose properties are this text, JSON or not."""
    process: ProcessWriter = TraceWriter(Path()).process(pid=41)
    process.properties({})
    assert process._catalog is not None
    size = -(-(8 + len(text)) // 4) * 4
    process._catalog.payload[:] = (size << 8 | 2).to_bytes(4, "little") + len(text).to_bytes(4, "little") + text
    process._catalog.payload += bytes(size - len(process._catalog.payload))
    thread = process.thread()
    thread.operation(0, 5, "inference")
    process.stop(10)
    return process.to_bytes()


def counter_file(place: Path) -> bytes:
    """Of some batches."""
    metrics = parse_counters("sm_efficiency,achieved_occupancy,dram_bytes")
    path = place / "sound.arrows"
    writer = CounterWriter(
        path, uuid="GPU-1", name="H200", chip="GH100", interval_ns=100_000, metrics=metrics, offset_low_ns=-10,
        offset_high_ns=10,
    )  # fmt: skip
    columns = sampled_metrics(metrics)
    for batch in range(4):
        start = np.arange(20) * 100_000 + batch * 2_000_000
        writer.append(start, start + 100_000, {name: np.arange(20.0) % 7 for name in columns})
    writer.close()
    return path.read_bytes()


@dataclass
class Result:
    """What came of the inputs of one kind."""

    inputs: int = 0
    refused: int = 0
    slowest_s: float = 0.0


def read_one(target: Target, result: Result) -> str:
    """What went wrong with one more input, "" if nothing did."""
    data, failure = next(target.inputs), ""
    began_s = time.perf_counter()
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        target.read(data)
    except RLScopeError as error:
        result.refused += 1
        failure = "an error of several lines" if "\n" in str(error) else ""
    except (Exception, TooLongError) as error:
        kept = Path(tempfile.mkstemp(prefix="rlscope-fuzz-")[1])
        kept.write_bytes(data)
        failure = f"{type(error).__name__}: {error} (kept as {kept})"
    result.inputs += 1
    result.slowest_s = max(result.slowest_s, time.perf_counter() - began_s)
    return failure


def fuzz(runs: int, seed: int, place: Path) -> tuple[dict[str, Result], list[str]]:
    """Reads so many inputs of all kinds together; returns what came of them, and a sentence for each failure."""
    chance = random.Random(seed)
    kinds = targets(place, chance)
    results = {name: Result() for name in kinds}
    failures = []
    warnings.simplefilter("error")
    with limits(SECONDS, BYTES):
        for number, name in enumerate(chance.choices(list(kinds), [each.share for each in kinds.values()], k=runs)):
            if failure := read_one(kinds[name], results[name]):
                failures.append(f"{name}, input {number}: {failure}")
    return results, failures


def main() -> int:
    """The exit status: 1 where an input was neither read nor refused."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as directory:
        results, failures = fuzz(arguments.runs, arguments.seed, Path(directory))
    for name, result in results.items():
        print(f"{name}: {result.inputs} inputs, {result.refused} refused, slowest {result.slowest_s:.2f} s")
    print(f"at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB, {len(failures)} failures")
    print("\n".join(failures[:20]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
