"""Time without a core, held against what the kernel says of the same threads in the same run."""

import json
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from recording import record

from rlscope.analysis.analysis import analyze
from rlscope.trace.reader import open_trace

CATEGORIES = ("python", "no_core", "wait")


#: Of each period so much may be used by all threads of a program together.
PERIOD_US, QUOTA_US = 20_000, 8_000
#: Where control groups of version 1 and 2 have the processor, and what says a quota there.
ROOTS = {Path("/sys/fs/cgroup/cpu"): "cpu.cfs_quota_us", Path("/sys/fs/cgroup"): "cpu.max"}


@pytest.fixture
def quota() -> Iterator[Path]:
    """A control group whose processes have 0.4 of a core."""
    for root, name in ROOTS.items():
        group = root / f"rlscope-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            if name == "cpu.max":
                (group / name).write_text(f"{QUOTA_US} {PERIOD_US}\n")
            else:
                (group / "cpu.cfs_period_us").write_text(f"{PERIOD_US}\n")
                (group / name).write_text(f"{QUOTA_US}\n")
            yield group
            return
        except OSError:
            continue
        finally:
            _removed(group)
    pytest.skip("no control group with a quota can be made here: no cpu.cfs_quota_us or cpu.max can be written")


def _removed(group: Path) -> None:
    """Remove a group, whose last process may still be on its way out."""
    for _ in range(100):
        try:
            group.rmdir()
            return
        except OSError:
            time.sleep(0.05)
    group.rmdir()


@pytest.mark.parametrize(("spinners", "seed"), [(0, 1), (1, 2), (3, 3), (4, 4)])
def test_threads_ran_waited_and_had_no_core_for_as_long_as_the_kernel_says(
    spinners: int, seed: int, tmp_path: Path
) -> None:
    held_against_the_kernel(tmp_path / "trace", spinners, seed, "one core")


@pytest.mark.parametrize(("spinners", "seed"), [(0, 5), (3, 6), (4, 7)])
def test_threads_that_chose_a_core_each_are_told_as_the_kernel_tells_them(
    spinners: int, seed: int, tmp_path: Path
) -> None:
    held_against_the_kernel(tmp_path / "trace", spinners, seed, "a core each")


@pytest.mark.parametrize(("spinners", "seed"), [(0, 8), (2, 9)])
def test_threads_that_a_quota_stops_have_no_core(spinners: int, seed: int, quota: Path, tmp_path: Path) -> None:
    known = held_against_the_kernel(tmp_path / "trace", spinners, seed, str(quota))
    # What computes for half of the time and more, as each thread here would, has 0.4 of a core at most.
    assert max(shares["no_core"] for shares in known.values()) > 0.1


def held_against_the_kernel(trace: Path, spinners: int, seed: int, limit: str) -> dict[str, dict[str, float]]:
    """Record the threads, compare, and return the shares that the kernel says, by thread and category."""
    recording = record(trace, "known_cores.py", spinners, seed, limit)
    assert recording.returncode == 0, recording.stderr
    told = json.loads(recording.stdout)
    found: dict[str, defaultdict[str, float]] = {name: defaultdict(float) for name in told}
    for row in analyze(open_trace(recording.trace), by_thread=True).threads:
        if row.operation in found:
            found[row.operation][row.category] += row.seconds
    all_known = {}
    for name, times_ns in told.items():
        whole_s = sum(found[name].values())
        assert whole_s == pytest.approx(sum(times_ns.values()) / 1e9, rel=0.03)
        shares = {category: found[name][category] / whole_s for category in CATEGORIES}
        known = all_known[name] = {category: times_ns[category] / sum(times_ns.values()) for category in CATEGORIES}
        assert shares == pytest.approx(known, abs=0.03), (name, shares, known)
    return all_known
