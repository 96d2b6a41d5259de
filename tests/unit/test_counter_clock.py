"""The clock of a sampled device: it is found where samples say what it is, and not searched for where they do not."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from rlscope.analysis.counters import clock as module
from rlscope.analysis.counters.clock import MOST_TRIED, PIECE_NS, counter_clock
from rlscope.analysis.counters.intervals import Intervals
from rlscope.trace.counter_metrics import ACTIVE_CYCLES
from rlscope.trace.counters_file import CounterSamples

UUID = "GPU-a"
US = 1000
INTERVAL_NS = 100 * US


@pytest.mark.parametrize("drift", [0.0, 50e-6, -50e-6])
def test_the_clock_of_the_device_is_found(drift: float) -> None:
    """Its offset is anywhere in a millisecond as sampling begins, and then drifts by more than that of two samples."""
    random = np.random.default_rng(7)
    start_ns = np.cumsum(random.exponential(800 * US, 8000)).astype(np.int64)
    end_ns = start_ns + random.integers(5 * US, 300 * US, len(start_ns))
    kernels = Intervals(start_ns, end_ns, np.zeros_like(start_ns)).union()
    epoch_ns, off_ns = 1_760_000_000_000_000_000, 400 * US
    device_ns = np.arange(0, int(end_ns.max()), INTERVAL_NS)
    true_ns = device_ns - off_ns - drift * device_ns

    def busy_until(time_ns: Any) -> Any:
        lengths = kernels.end - kernels.start
        borders = np.column_stack([kernels.start, kernels.end]).ravel()
        return np.interp(time_ns, borders, np.cumsum(np.column_stack([np.zeros_like(lengths), lengths]).ravel()))

    activity = np.diff(busy_until(true_ns)) * random.uniform(0.01, 1, len(device_ns) - 1)  # small and large kernels
    samples = CounterSamples(
        uuid=UUID,
        interval_ns=INTERVAL_NS,
        metrics=(),
        offset_low_ns=epoch_ns,
        offset_high_ns=epoch_ns + 1000 * US,
        start_ns=device_ns[:-1] + epoch_ns,
        end_ns=device_ns[1:] + epoch_ns,
        columns={ACTIVE_CYCLES: activity},
        is_cut_off=False,
    )
    found_ns = counter_clock(samples, kernels).monotonic_ns(samples.start_ns)
    assert np.abs(found_ns - true_ns[:-1]).max() < 10 * US


def test_without_a_hint_the_clock_is_in_the_middle_of_where_it_may_be() -> None:
    times_ns = np.array([0, INTERVAL_NS])
    samples = CounterSamples(
        UUID, INTERVAL_NS, (), 0, 500, times_ns, times_ns + INTERVAL_NS, {ACTIVE_CYCLES: np.ones(2)}, False
    )
    nothing = np.array([], dtype=np.int64)
    for borders_ns in (nothing, np.array([0]), np.array([7_000_000_000])):
        kernels = Intervals(borders_ns, borders_ns + 400 * US, np.zeros_like(borders_ns))
        assert counter_clock(samples, kernels).monotonic_ns(times_ns).tolist() == [-250, 99_750]


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """How many offsets are tried, by the second in which the samples begin."""
    counts: Counter[int] = Counter()
    disagreement = module._Piece._disagreement

    def counted(piece: Any, work: Any, offset_ns: float) -> float:
        counts[int(piece.start_ns[0] // 1e9)] += 1
        return disagreement(piece, work, offset_ns)

    monkeypatch.setattr(module._Piece, "_disagreement", counted)
    return counts


def every(period_ns: int, seconds: int, length_ns: int) -> Intervals:
    start_ns = np.arange(0, seconds * 10**9, period_ns)
    return Intervals(start_ns, start_ns + length_ns, np.zeros_like(start_ns))


def sampled(at: Intervals, activity: Any, most_ahead_ns: int = 1000 * US) -> CounterSamples:
    interval_ns = int(at.end[0] - at.start[0])
    return CounterSamples(UUID, interval_ns, (), 0, most_ahead_ns, at.start, at.end, {ACTIVE_CYCLES: activity}, False)


def test_a_device_that_is_never_idle_has_no_clock_to_search_for(tried: Counter[int]) -> None:
    """No sample is without work, whatever the offset; but for the first, which may lie before the first kernel."""
    samples = every(2000 * US, 20, 2000 * US)
    clock = counter_clock(sampled(samples, np.ones(len(samples.start))), every(1000 * US, 21, 980 * US))
    assert set(tried) <= {0} and clock.monotonic_ns(samples.start[:2]).tolist() == [-500 * US, 1500 * US]


def test_the_clock_is_not_searched_for_in_what_other_programs_do(tried: Counter[int]) -> None:
    random = np.random.default_rng(1)
    starts_ns = np.arange(0, 4 * 10**9, 10_000 * US) + random.integers(0, 4000 * US, 400)
    kernels = Intervals(starts_ns, starts_ns + 3000 * US, np.zeros_like(starts_ns))
    samples = every(2000 * US, 40, 2000 * US)
    clock = counter_clock(sampled(samples, (random.random(len(samples.start)) < 0.3).astype(float)), kernels)
    assert set(tried) == {0, 2} and len(clock.at_ns) <= 2


def test_of_offsets_that_are_equally_good_so_many_and_no_more_are_tried(tried: Counter[int]) -> None:
    """Kernels every 40 us, samples 10 ms apart: where the clock may be grows, and says nothing of where it is."""
    samples = every(10_000 * US, 16, 5 * US)
    clock = counter_clock(sampled(samples, np.ones(len(samples.start)), 1000), every(40 * US, 17, 2 * US))
    assert not len(clock.at_ns) and clock.monotonic_ns(samples.start[-1:]) == samples.start[-1] - 500
    assert sorted(tried) == [0, 2, 4, 6, 8] and 2000 < max(tried.values()) <= MOST_TRIED
    assert PIECE_NS == 2 * 10**9  # so that these are pieces one after the other


def test_a_clock_of_which_nothing_is_known_is_not_searched_for(tried: Counter[int]) -> None:
    samples = every(100 * US, 1, 100 * US)
    is_active = (np.arange(len(samples.start)) % 10 == 0).astype(float)
    clock = counter_clock(sampled(samples, is_active, 10**9), every(1000 * US, 1, 90 * US))
    assert not tried and clock.monotonic_ns(samples.start[:1]).tolist() == [-500_000 * US]


def test_samples_a_lifetime_apart_take_no_memory(tried: Counter[int]) -> None:
    """The clock may have drifted by 3 days until the last one, which are 1e10 offsets."""
    samples = every(100 * US, 1, 100 * US)
    samples.start[-1] = samples.end[-2]
    samples.end[-1] = 1 << 61
    clock = counter_clock(sampled(samples, np.ones(len(samples.start))), every(1000 * US, 1, 90 * US))
    assert not tried and not len(clock.at_ns)
