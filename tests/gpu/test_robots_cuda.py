"""The CUDA kernels of robots: their steps are MuJoCo's, and those of environments the C++ twin's."""

import numpy as np
import pytest
from robot_reference import TOLERANCES, reference
from robots.cpp import Twin
from robots.model import TASKS

cupy = pytest.importorskip("cupy", reason="needs CuPy: pip install cupy-cuda13x or cupy-cuda12x")

from robots.cuda import Cuda  # noqa: E402

SEED = (3 << 32) + 9
OF_THE_LARGEST, OF_POSITIONS = TOLERANCES[np.float32][1:]
#: Standard errors by which means may differ; seeds are fixed, so what passes keeps passing.
DEVIATIONS = 4


@pytest.mark.parametrize("name", TASKS)
def test_one_step_from_each_state_is_mujocos(name: str) -> None:
    steps = reference(name)
    q, v, iterations = Cuda(name, 1, 1, "cuda", SEED).step(steps.q, steps.v, steps.actions)
    np.testing.assert_allclose(v, steps.next_v, rtol=0, atol=OF_THE_LARGEST * np.abs(steps.next_v).max())
    np.testing.assert_allclose(q, steps.next_q, rtol=0, atol=OF_POSITIONS)
    assert (iterations < 10).all()


@pytest.mark.parametrize("environments", [1, 33, 1000])
@pytest.mark.parametrize("name", TASKS)
def test_ten_launches_of_one_step_are_one_of_ten(name: str, environments: int) -> None:
    single, fused = Cuda(name, environments, 1, "cuda", SEED), Cuda(name, environments, 10, "cuda", SEED)
    for _ in range(10):
        single.simulate()
    fused.simulate()
    for key in ("q", "v", "lasted", "rewards", "ends"):
        np.testing.assert_array_equal(cupy.asnumpy(getattr(single, key)), cupy.asnumpy(getattr(fused, key)))


@pytest.mark.parametrize("name", TASKS)
def test_the_first_step_of_environments_is_the_twins(name: str) -> None:
    """The same starts and actions, hence the same rewards but for rounding."""
    count = 1000
    on_gpu, twin = Cuda(name, count, 1, "cuda", SEED), Twin(name)
    on_gpu.simulate()
    on_host = twin.environments(count)
    twin.simulate(on_host, 1, 0, SEED)
    np.testing.assert_array_equal(cupy.asnumpy(on_gpu.lasted), on_host.lasted)
    np.testing.assert_allclose(cupy.asnumpy(on_gpu.q), on_host.q, atol=1e-3)
    np.testing.assert_allclose(cupy.asnumpy(on_gpu.rewards), on_host.rewards, atol=1e-2)


@pytest.mark.parametrize("name", TASKS)
def test_many_steps_are_the_twins_on_average(name: str) -> None:
    count, steps = 1000, 100
    on_gpu, twin = Cuda(name, count, steps, "cuda", SEED), Twin(name)
    on_gpu.simulate()
    on_host = twin.environments(count)
    twin.simulate(on_host, steps, 0, SEED + 1)
    for seen in ("rewards", "ends", "q", "v"):
        both = (cupy.asnumpy(getattr(on_gpu, seen)), getattr(on_host, seen))
        found, expected = (np.atleast_2d(values).astype(float) for values in both)
        assert np.isfinite(found).all()
        errors = np.sqrt((found.var(1) + expected.var(1)) / count)
        assert (np.abs(found.mean(1) - expected.mean(1)) <= DEVIATIONS * errors).all(), seen
