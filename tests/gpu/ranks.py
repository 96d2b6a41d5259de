"""Two ranks on two GPUs: who was late beside a stopwatch, what is matched, and what recording costs.

    python -m tests.gpu.ranks OUTPUT [OPTION OF THE PROGRAM ...]

Leaves ranks.json in OUTPUT, in about six minutes. Without GPUs it runs with Gloo, and judges calls in place of kernels.
What is late is judged by PyTorch's flight recorder, which notes when each call is made: the first kernel of each step,
before which its device has nothing to do, and all calls. The stopwatch at the begin of a step is there too: it knows
nothing of how long a rank then took to come to its first call.
"""

import json
import os
import subprocess
import sys
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from rlscope.analysis.analysis import Analysis, make_analysis
from rlscope.analysis.ranks.kernels import kernels_of, where_waited
from rlscope.analysis.ranks.matching import Collective, collectives_of
from rlscope.analysis.sweep import TraceSweep, sweep_trace
from rlscope.trace.reader import open_trace
from tests.gpu.programs.ranks import WARM_UP

PROGRAM = Path(__file__).parent / "programs" / "ranks.py"
KINDS = ("ddp", "fsdp")
LATE_MS = 2.0
BALANCED_RUNS = 5
ROUNDS = 3
NS_PER_MS = 1_000_000
#: No further measurement begins after so many seconds.
TIME_S = 450

Stopwatches = dict[int, dict[str, Any]]


def run(words: Iterable[str], trace: Path | None) -> Stopwatches:
    """Run the program on two ranks, recorded into `trace` if there is one. Returns what each rank has written."""
    recording = [] if trace is None else ["-m", "rlscope", "record", "--force", "-o", str(trace), "--", sys.executable]
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(PROGRAM)]
    variables = {"OMP_NUM_THREADS": "1", "NCCL_NVLS_ENABLE": "0", **os.environ}
    with TemporaryDirectory() as folder:
        command = [sys.executable, *recording, *launch, folder, *words]
        found = subprocess.run(command, capture_output=True, text=True, env=variables)
        if found.returncode != 0:
            raise SystemExit(f"{' '.join(command)} ended with {found.returncode}:\n{found.stderr[-3000:]}")
        return {rank: json.loads((Path(folder) / f"{rank}.json").read_text()) for rank in (0, 1)}


def step_ms(watched: Stopwatches) -> float:
    """The median of a step, from begin to begin."""
    began_ns = watched[0]["began_ns"][WARM_UP:]
    return median(after - before for before, after in pairwise(began_ns)) / NS_PER_MS


def known_late_ns(watched: Stopwatches) -> list[int]:
    """By how much rank 1 began each step later than rank 0, by their stopwatches."""
    first, second = (watched[rank]["began_ns"][WARM_UP:] for rank in (0, 1))
    return [b - a for a, b in zip(first, second, strict=True)]


def first_calls_late_ns(watched: Stopwatches) -> list[int]:
    """By how much rank 1 made the first call of each step later than rank 0, by their flight recorders."""
    first, second = (_first_calls_ns(watched[rank]) for rank in (0, 1))
    return [b - a for a, b in zip(first, second, strict=True)]


def _first_calls_ns(rank: dict[str, Any]) -> list[int]:
    made_ns = sorted(at_ns for _, at_ns in rank["calls"])
    return [made_ns[bisect_left(made_ns, began_ns)] for began_ns in rank["began_ns"][WARM_UP:]]


def found_late_ns(swept: TraceSweep, collectives: Iterable[Collective], watched: Stopwatches) -> list[int]:
    """The same by the trace: how late rank 1 was in the first thing that both did in the step."""
    offset_ns = next(each for each in swept.processes if each.name == "rank 0").file.clock.realtime_offset_ns
    of_both = [each for each in collectives if each.is_matched and len(each.parts) == 2]
    starts = sorted(_starts(each, offset_ns) for each in of_both)
    found, place = [], 0
    for began_ns in watched[0]["began_ns"][WARM_UP:]:
        while place < len(starts) and starts[place][0] < began_ns:
            place += 1
        if place < len(starts):
            found.append(starts[place][1] - starts[place][0])
    return found


def _starts(collective: Collective, offset_ns: int) -> tuple[int, int]:
    """Rank 0's and rank 1's, in ns of CLOCK_MONOTONIC."""
    by_rank = {part.process: part.called_ns - offset_ns for part in collective.parts}
    return by_rank["rank 0"], by_rank["rank 1"]


def lateness(trace: Path, watched: Stopwatches) -> dict[str, Any]:
    """What the trace says of the late rank, beside the stopwatch."""
    swept = sweep_trace(open_trace(trace))
    kernels = kernels_of(swept, recover=False)
    calls = collectives_of(swept)
    by_stopwatch_ns, known_ns = known_late_ns(watched), first_calls_late_ns(watched)
    found_ns = found_late_ns(swept, where_waited(calls, kernels), watched)
    off_ns = [abs(found - known) for found, known in zip(found_ns, known_ns, strict=False)]
    off_stopwatch_ns = [abs(found - known) for found, known in zip(found_ns, by_stopwatch_ns, strict=False)]
    analysis = make_analysis(swept)
    return {
        "steps_found": len(found_ns),
        "steps": len(known_ns),
        "known_late_ms": median(known_ns) / NS_PER_MS,
        "found_late_ms": median(found_ns) / NS_PER_MS,
        "off_us": median(off_ns) / 1000,
        "by_stopwatch_ms": median(by_stopwatch_ns) / NS_PER_MS,
        "off_stopwatch_us": median(off_stopwatch_ns) / 1000,
        "holds": median(off_ns) <= max(0.03 * median(known_ns), 50_000),
        "calls": beside_flight_recorder(calls, watched),
        **matching(kernels),
        "sum_to_wall": sums_to_wall(analysis),
        "stands_out": {row.process: row.stands_out for row in analysis.stragglers},
        "stragglers": analysis.stragglers.records(),
        "device_ranks": analysis.device_ranks.records(),
        "overlap_percent": overlap_percent(analysis),
        "gpu": analysis.gpu.records(),
    }


def beside_flight_recorder(collectives: Iterable[Collective], watched: Stopwatches) -> dict[str, Any]:
    """How late rank 1 was in each call, as the trace has it beside PyTorch's flight recorder, by kind of call.

    Broadcasts are left out: one call of a model's buffers is several of the flight recorder's. So is what Gloo does by
    another call.
    """
    beside: dict[str, Any] = {}
    for kind in ("all_reduce", "all_gather", "reduce_scatter"):
        known = [
            [made_ns for name, made_ns in watched[rank]["calls"] if name.partition(":")[2].lstrip("_").startswith(kind)]
            for rank in (0, 1)
        ]
        of_kind = [each for each in collectives if each.is_matched and each.parts[0].function.endswith(kind)]
        found_ns = [second - first for first, second in (_starts(each, 0) for each in of_kind)]
        known_ns = [second - first for first, second in zip(*known, strict=True)]
        beside[kind] = {"calls": len(found_ns), "flight_recorder_calls": len(known_ns)}
        if found_ns and len(found_ns) == len(known_ns):
            off_us = sorted(abs(a - b) / 1000 for a, b in zip(found_ns, known_ns, strict=True))
            beside[kind] |= {
                "known_late_ms": median(known_ns) / NS_PER_MS,
                "off_us": median(off_us),
                "off_us_of_95_percent": off_us[len(off_us) * 95 // 100],
            }
    return beside


def matching(kernels: Iterable[Collective]) -> dict[str, dict[str, int]]:
    """How many kernels are matched, and how many are not, by what they do and of whom."""
    counts = {True: Counter[str](), False: Counter[str]()}
    for each in kernels:
        counts[each.is_matched][f"{each.communicator.label} {each.parts[0].function}"] += len(each.parts)
    return {"kernels_matched": dict(counts[True]), "kernels_apart": dict(counts[False])}


def sums_to_wall(analysis: Analysis) -> bool:
    """Whether each rank's parts sum to its wall time, on the processor and on its device."""
    sums = [(row.compute_s + row.wait_s + row.transfer_s + row.other_wait_s, row.wall_s) for row in analysis.ranks] + [
        (row.compute_s + row.wait_s + row.transfer_s + row.idle_s, row.wall_s) for row in analysis.device_ranks
    ]
    return all(abs(found - wall) <= 1e-6 * wall for found, wall in sums)


def overlap_percent(analysis: Analysis) -> float | None:
    """The share of rank 0's communication beside which its device computed; None without a device."""
    if not analysis.gpu:
        return None
    row = analysis.gpu[0]
    return 100 * (1 - row.exposed_s / row.communication_s) if row.communication_s else 0.0


def slowdown(words: list[str], trace: Path) -> dict[str, Any]:
    """What recording and torch.profiler cost: whole runs in turns, by the median step of each."""
    times_ms: dict[str, list[float]] = {"plain": [], "rlscope": [], "torch.profiler": []}
    profiled: dict[str, Any] = {}
    for _ in range(ROUNDS):
        times_ms["plain"].append(step_ms(run(words, None)))
        times_ms["rlscope"].append(step_ms(run(words, trace)))
        watched = run([*words, "--profile"], None)
        times_ms["torch.profiler"].append(step_ms(watched))
        profiled = watched[0]["profiler"]
    plain_ms = median(times_ms["plain"])
    percent = {name: 100 * (median(found) / plain_ms - 1) for name, found in times_ms.items()}
    swept = sweep_trace(open_trace(trace))
    seen = {"overlap_percent": overlap_percent(make_analysis(swept)), **matching(kernels_of(swept, recover=False))}
    return {"step_ms": times_ms, "slower_percent": percent, "rlscope": seen, "torch.profiler": profiled}


def main() -> None:
    """Measure, keep what was found after each part, and fail if something does not hold."""
    began_s = time.monotonic()
    output, options = Path(sys.argv[1]), sys.argv[2:]
    traces = output / "traces"
    traces.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {}

    def keep(name: str, found: Any) -> None:
        results[name] = found
        (output / "ranks.json").write_text(json.dumps(results, indent=2) + "\n")
        print(json.dumps({name: found}), flush=True)

    for kind in KINDS:
        watched = run(["--kind", kind, "--late-ms", str(LATE_MS), *options], traces / kind)
        keep(kind, lateness(traces / kind, watched) | {"step_ms": step_ms(watched)})
    keep("slowdown", slowdown(["--kind", "ddp", *options], traces / "slowdown"))
    balanced: list[dict[str, bool]] = []
    for number in range(2 * BALANCED_RUNS):
        if time.monotonic() - began_s > TIME_S:
            break
        run(["--kind", KINDS[number % 2], *options], traces / "balanced")
        rows = make_analysis(sweep_trace(open_trace(traces / "balanced"))).stragglers
        balanced.append({row.process: row.stands_out for row in rows})
    keep("balanced", {"runs": len(balanced), "false_stragglers": sum(any(each.values()) for each in balanced)})
    if not all(results[kind]["holds"] and results[kind]["sum_to_wall"] for kind in KINDS):
        raise SystemExit("a lateness off by at most 3 % or 50 us, and sums of wall time were expected; see ranks.json")


if __name__ == "__main__":
    main()
