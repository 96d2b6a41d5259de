"""A calibration that is measured here and now: plausible, and of use for a program that it has not seen."""

import zlib
from binascii import hexlify
from pathlib import Path

import pytest

from experiments.overhead_correction.measurements import removed_s
from rlscope import _native
from rlscope.analysis.correction.corrected import Correction
from rlscope.calibration import measure
from rlscope.calibration.calibration import Calibration
from rlscope.calibration.twins import Tick, Twin, run_twins
from rlscope.calibration.workload import ANNOTATIONS, LOOPS, wrap_standard_library
from rlscope.record.run.machine import machine

TIMES = 16
#: Of this long a calibration the loops below measure a second each.
SECONDS = 15.0


@pytest.fixture(scope="module")
def calibration() -> Calibration:
    with pytest.MonkeyPatch.context() as patch:
        quick = ("annotations", "standard library", "environment")
        patch.setattr(measure, "LOOPS", {name: LOOPS[name] for name in quick})
        found, missing = measure.calibrate(lambda loop: None, SECONDS)
    assert not missing
    return found


def test_costs_are_plausible(calibration: Calibration) -> None:
    """From what a few instructions take to what a program would not stand."""
    assert set(calibration.costs) == {"operation", "boundary", "operation/simulation"}
    for key, cost in calibration.costs.items():
        total = cost.total_ns
        assert 1 < total.mean < 100_000, key
        assert 0 < total.low < total.mean < total.high, key
        assert cost.events > 1000, key
    costs = calibration.costs
    # Hooks in Python bring more with them than a name that the program gives.
    assert costs["operation/simulation"].total_ns.mean > costs["operation"].total_ns.mean
    assert calibration.made_on.cores == machine()["cores"]


def checksums(tick: Tick) -> None:
    """Nested operations around strings, and native calls: unlike the loops of a calibration.

    Their names are none that hooks give, which would have the costs of hooks.
    """
    operation = _native.operation
    while True:
        tick()
        for number in range(400):
            with operation("words"):
                text = " ".join(str(number * factor % 97) for factor in range(5)).encode()
                with operation("checksum"):
                    hexlify(text)
                    zlib.crc32(text)


@pytest.mark.usefixtures("processors")
def test_correction_comes_nearer_to_the_run_that_is_not_amplified(calibration: Calibration, tmp_path: Path) -> None:
    """The work of each record is done 16 times, which adds a quarter or more; half of that at least comes off."""
    twins = {f"x{times}": Twin(ANNOTATIONS, times, wrap_standard_library) for times in (1, TIMES)}
    lengths_ns = run_twins(twins, checksums, tmp_path, seconds=2.0, swaps=2, settling=12)
    took_s = {name: lengths.sum() / 1e9 for name, lengths in lengths_ns.items()}
    added_s = took_s[f"x{TIMES}"] - took_s["x1"]
    assert added_s > 0.25 * took_s["x1"]
    correction = calibration.correction("measured here")
    assert isinstance(correction, Correction)
    removed, _ = removed_s(tmp_path / f"x{TIMES}", correction)
    assert abs(added_s - removed.mean) < added_s / 2
