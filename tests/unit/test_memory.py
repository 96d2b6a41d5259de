"""Memory by stage, and what is told of it: memory that grows to the end, and memory that goes up and down."""

import random
from pathlib import Path

import pytest
from recording import call_here
from trace_builder import parse_script, write_scripts

from rlscope.analysis.analysis import analyze
from rlscope.analysis.memory.tables import growth_of
from rlscope.trace.reader import open_trace

MIB = 1 << 20


def points(used: list[int]) -> list[tuple[float, int, int]]:
    """Samples ten times a second, with an iteration each half second."""
    return [(place / 10, each, place // 5) for place, each in enumerate(used)]


def test_memory_that_leaks() -> None:
    """A hundredth of a MiB in each tenth of a second."""
    found = growth_of(points([50 * MIB + MIB * place // 100 for place in range(900)]))
    assert found is not None
    assert found.grows
    assert found.bytes_per_s == pytest.approx(MIB / 10, rel=1e-3)
    assert found.low_bytes_per_s == pytest.approx(MIB / 10, rel=1e-3)
    assert found.high_bytes_per_s == pytest.approx(MIB / 10, rel=1e-3)
    assert found.bytes_per_iteration == pytest.approx(MIB / 20, rel=1e-2)


@pytest.mark.parametrize(
    "used",
    [
        [MIB * (100 + place % 50) for place in range(900)],  # up and down in each iteration
        [MIB * min(place, 200) for place in range(900)],  # a buffer that was full in the first third
        [MIB * (900 - place) for place in range(900)],
        [50 * MIB + place for place in range(900)],  # 600 bytes in all
        [50 * MIB] * 900,
    ],
    ids=["sawtooth", "full", "shrinks", "little", "constant"],
)
def test_memory_that_does_not_grow_to_the_end(used: list[int]) -> None:
    found = growth_of(points(used))
    assert found is not None
    assert not found.grows


def test_one_step_is_an_uncertain_rate() -> None:
    """A second buffer was made half way: what that says of the next hour is nothing."""
    found = growth_of(points([MIB * (100 if place < 600 else 200) for place in range(900)]))
    assert found is not None
    assert not found.grows
    assert found.low_bytes_per_s < 0 < found.bytes_per_s < found.high_bytes_per_s


def test_growth_whose_interval_holds_zero_is_not_told() -> None:
    """Eight steps of a few KiB and one of a GiB: of the mean step nothing is known."""
    used = [100 * MIB + place * 4096 + (place >= 690) * 1024 * MIB for place in range(900)]
    found = growth_of(points(used))
    assert found is not None
    assert found.low_bytes_per_s < 0
    assert not found.grows


def test_a_leak_is_found_in_a_loop_of_few_seconds() -> None:
    """73 MiB in 2.7 s. With so few samples, no step may go down."""
    leak = [100 * MIB + MIB * 73 * place // 27 for place in range(27)]
    found = growth_of(points(leak))
    assert found is not None
    assert found.grows
    assert found.bytes_per_s == pytest.approx(27 * MIB, rel=0.02)
    assert found.low_bytes_per_s > 0.9 * found.bytes_per_s
    freed = growth_of(points([used - (place >= 20) * 10 * MIB for place, used in enumerate(leak)]))
    assert freed is not None
    assert not freed.grows


@pytest.mark.parametrize("samples", [21, 24, 27, 45, 90])
def test_memory_that_goes_up_and_down_by_chance_hardly_ever_grows(samples: int) -> None:
    chance = random.Random(samples)
    told = 0
    for _ in range(300):
        found = growth_of(points([100 * MIB + chance.randrange(50 * MIB) for _ in range(samples)]))
        assert found is not None
        told += found.grows
    assert told <= 6


def test_growth_needs_enough_samples_that_differ_in_time() -> None:
    assert growth_of(points([MIB * place for place in range(20)])) is None
    assert growth_of(points([MIB * place for place in range(21)])) is not None
    assert growth_of([(1.0, MIB * place, 0) for place in range(45)]) is None


def leaking(tmp_path: Path) -> Path:
    """A process that uses 2 MB more every 100 ms, half of the time in simulation."""
    lines = ["process start=0 stop=10000000000", "thread 0"]
    for place in range(90):
        start = place * 100_000_000
        host, given = MIB * 100 + place * 2_048_000, MIB * (300 if place % 2 else 200)
        name = "simulation" if place % 2 else "inference"
        lines += [
            f"{start} + {name}", f"{start + 1} memory host 0 used {host} peak {host}",
            f"{start + 2} memory pytorch 1 used {given} peak {400 * MIB}", f"{start + 90_000_000} -",
        ]  # fmt: skip
    write_scripts([parse_script("\n".join(lines))], tmp_path)
    return tmp_path


def test_memory_by_stage_and_growth(tmp_path: Path) -> None:
    analysis = analyze(open_trace(leaking(tmp_path)))
    (process,) = (row.process for row in analysis.processes)
    most = {(row.owner, row.device, row.stage): (row.samples, row.highest_bytes) for row in analysis.memory}
    assert most == {
        ("host", None, "simulation"): (45, MIB * 100 + 89 * 2_048_000),
        ("host", None, "inference"): (45, MIB * 100 + 88 * 2_048_000),
        ("PyTorch", 1, "simulation"): (45, 300 * MIB),
        ("PyTorch", 1, "inference"): (45, 200 * MIB),
    }
    host, device = analysis.memory_growth
    assert (host.samples, host.first_bytes, host.last_bytes) == (90, 100 * MIB, 100 * MIB + 89 * 2_048_000)
    assert host.grows
    assert host.bytes_per_s == pytest.approx(20_480_000)
    assert host.bytes_per_iteration is None
    assert (device.peak_bytes, device.grows) == (400 * MIB, False)
    (finding,) = analysis.findings
    assert (finding.code, finding.seconds) == ("RLS801", None)
    assert f"what {process} keeps" in finding.change and "68.7 GiB an hour (68.7 GiB to 68.7 GiB)" in finding.change


def test_memory_grows_only_after_the_loop_has_begun(tmp_path: Path) -> None:
    """Imports and compiling take more and more for 9 s; then a loop of 3 s uses what it has."""
    lines = ["process start=0 stop=12000000000", "thread 0"]
    for place in range(120):
        start = place * 100_000_000
        used = MIB * (100 + min(place, 90))
        memory = f"{start + 1} memory host 0 used {used} peak {used}"
        lines += [memory] if place < 90 else [f"{start} + simulation", memory, f"{start + 90_000_000} -"]
    write_scripts([parse_script("\n".join(lines))], tmp_path)
    (host,) = analyze(open_trace(tmp_path)).memory_growth
    assert (host.samples, host.first_bytes, host.last_bytes) == (120, 100 * MIB, 190 * MIB)
    assert (host.bytes_per_s, host.grows) == (0, False)


def test_memory_of_a_process_without_a_loop_is_not_said_to_grow(tmp_path: Path) -> None:
    """It imports, and then fails perhaps."""
    lines = ["process start=0 stop=9000000000", "thread 0"]
    lines += [f"{place * 100_000_000} memory host 0 used {MIB * place} peak {MIB * place}" for place in range(90)]
    write_scripts([parse_script("\n".join(lines))], tmp_path)
    (host,) = analyze(open_trace(tmp_path)).memory_growth
    assert (host.last_bytes, host.bytes_per_s, host.grows) == (89 * MIB, None, False)


def test_memory_in_a_terminal(tmp_path: Path) -> None:
    shown = call_here("analyze", leaking(tmp_path), "--all").stdout
    table = [line.split() for line in shown.split("Memory: the most, by stage\n")[1].splitlines()[:3]]
    assert table == [
        ["memory", "peak", "simulation", "inference", "at_end"],
        ["PyTorch,", "GPU", "1", "400", "MiB", "300", "MiB", "200", "MiB", "300", "MiB"],
        ["host", "274", "MiB", "274", "MiB", "272", "MiB", "274", "MiB"],
    ]
    assert "grew to the end" in shown
