"""Time without a core, held against what the kernel says of the same threads in the same run."""

import json
from collections import defaultdict
from pathlib import Path

import pytest
from recording import record

from rlscope.analysis.analysis import analyze
from rlscope.trace.reader import open_trace

CATEGORIES = ("python", "no_core", "wait")


@pytest.mark.parametrize(("spinners", "seed"), [(0, 1), (1, 2), (3, 3), (4, 4)])
def test_threads_ran_waited_and_had_no_core_for_as_long_as_the_kernel_says(
    spinners: int, seed: int, tmp_path: Path
) -> None:
    recording = record(tmp_path / "trace", "known_cores.py", spinners, seed)
    assert recording.returncode == 0, recording.stderr
    told = json.loads(recording.stdout)
    found: dict[str, defaultdict[str, float]] = {name: defaultdict(float) for name in told}
    for row in analyze(open_trace(recording.trace), by_thread=True).threads:
        if row.operation in found:
            found[row.operation][row.category] += row.seconds
    for name, times_ns in told.items():
        whole_s = sum(found[name].values())
        assert whole_s == pytest.approx(sum(times_ns.values()) / 1e9, rel=0.03)
        shares = {category: found[name][category] / whole_s for category in CATEGORIES}
        known = {category: times_ns[category] / sum(times_ns.values()) for category in CATEGORIES}
        assert shares == pytest.approx(known, abs=0.03), (name, shares, known)
