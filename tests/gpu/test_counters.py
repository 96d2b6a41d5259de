"""Hardware counters on a GPU: kernels of which one knows how well they use it, beside ncu."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

from tests.gpu.counters import KERNELS, compared


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    if shutil.which("ncu") is None:
        pytest.skip("no ncu here")
    return compared(tmp_path_factory.mktemp("counters"))


@pytest.mark.parametrize("kernel", KERNELS)
def test_counters_are_those_of_ncu(comparison: pd.DataFrame, kernel: str) -> None:
    rows = comparison[comparison["kernel"] == kernel]
    assert len(rows)
    assert (rows["difference"].abs() < 2).all(), rows.to_string()


def test_a_kernel_of_one_warp_leaves_the_device_idle(comparison: pd.DataFrame, tmp_path: Path) -> None:
    values = comparison.set_index(["kernel", "counter"])["rlscope"]
    assert values["one_warp", "achieved_occupancy"] == pytest.approx(100 / 64, rel=0.02)
    assert values["full", "achieved_occupancy"] == pytest.approx(100, rel=0.02)
    assert values["quarter_of_processors", "sm_efficiency"] == pytest.approx(25, rel=0.02)
