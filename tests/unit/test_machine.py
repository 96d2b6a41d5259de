"""What a manifest says of cores, quotas and load, in the forms in which kernels say it, and what follows from it."""

import os
from pathlib import Path
from typing import Any

import pytest

from rlscope.analysis.machines import core_use
from rlscope.analysis.table_rows import BreakdownRow
from rlscope.record.run.machine import load, machine, quota_cores

S_PER_TICK = 1 / os.sysconf("SC_CLK_TCK")


def system(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_version_2_of_control_groups_limits_by_the_strictest_group(tmp_path: Path) -> None:
    root = system(
        tmp_path,
        {
            "proc/self/cgroup": "0::/jobs/mine\n",
            "sys/fs/cgroup/cgroup.procs": "",
            "sys/fs/cgroup/jobs/cpu.max": "150000 100000\n",
            "sys/fs/cgroup/jobs/cpu.stat": "usage_usec 9\nthrottled_usec 7\n",
            "sys/fs/cgroup/jobs/mine/cpu.max": "max 100000\n",
            "sys/fs/cgroup/jobs/mine/cpu.stat": "throttled_usec 5\n",
        },
    )
    assert quota_cores(root) == 1.5
    assert load(root)["throttled_ns"] == 12_000


def test_version_1_has_a_directory_for_each_controller(tmp_path: Path) -> None:
    root = system(
        tmp_path,
        {
            "proc/self/cgroup": "4:memory:/other\n3:cpu,cpuacct:/job\n1:name=systemd:/\n0::/\n",
            "sys/fs/cgroup/cpu/cgroup.procs": "",
            "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "25000\n",
            "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/cpu/job/cpu.stat": "nr_throttled 3\nthrottled_time 1234\n",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        },
    )
    assert quota_cores(root) == 0.25
    assert load(root)["throttled_ns"] == 1234


def test_in_a_container_its_group_may_lie_at_the_top(tmp_path: Path) -> None:
    root = system(
        tmp_path,
        {
            "proc/self/cgroup": "0::/docker/0123\n",
            "sys/fs/cgroup/cgroup.procs": "",
            "sys/fs/cgroup/cpu.max": "50000 100000\n",
        },
    )
    assert quota_cores(root) == 0.5


def test_stolen_time_is_counted_in_ticks_of_the_kernel(tmp_path: Path) -> None:
    root = system(tmp_path, {"proc/stat": "cpu  1 2 3 4 5 6 7 300 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n"})
    assert load(root)["stolen_ns"] == round(300 * S_PER_TICK * 1e9)


def test_a_system_that_says_nothing_is_not_known(tmp_path: Path) -> None:
    assert quota_cores(tmp_path) is None
    found = load(tmp_path)
    assert (found["stolen_ns"], found["throttled_ns"]) == (None, None)


def test_this_machine_says_what_may_be_used_of_it() -> None:
    here = machine()
    assert here["usable_cores"] == len(os.sched_getaffinity(0)) <= here["cores"]


def row(category: str, seconds: float) -> BreakdownRow:
    return BreakdownRow("main", "(none)", "(none)", "(none)", category, "cpu", "", "", seconds, None, None, None)


MACHINE = {"cores": 8, "usable_cores": 4, "quota_cores": 1.5}


@pytest.mark.parametrize(
    ("told", "usable"),
    [(MACHINE, 1.5), ({**MACHINE, "quota_cores": None}, 4), ({"cores": 8}, 8), ({"cores": "many"}, None), ([], None)],
)
def test_affinity_and_quota_say_how_many_cores_may_be_used(told: Any, usable: float | None) -> None:
    assert core_use({"machine": told}, []).usable == usable


def test_a_run_without_a_core_for_a_quarter_of_its_time() -> None:
    manifest = {
        "machine": MACHINE,
        "start": {"load_average": 0.5, "stolen_ns": 1_000_000_000, "throttled_ns": 0},
        "end": {
            "load_average": 9,
            "stolen_ns": 3_500_000_000,
            "throttled_ns": 4_000_000_000,
            "ready_threads": 17.5,
            "busy_cores": 0.75,
        },
    }
    found = core_use(manifest, [row("python", 3.0), row("no_core", 1.0)])
    assert (found.no_core_share, found.stolen_s, found.throttled_s) == (0.25, 2.5, 4)
    assert (found.load_at_start, found.load_at_end, found.ready_threads, found.busy) == (0.5, 9, 17.5, 0.75)
