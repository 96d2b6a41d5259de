"""The CUDA kernels in which a policy acts: their steps are the C++ twin's, their actions those of the policy."""

from typing import Any

import numpy as np
import pytest
from robot_reference import check_actions, policy_of
from robots.cpp import Twin
from robots.model import TASKS
from robots.policy import Data, room

cupy = pytest.importorskip("cupy", reason="needs CuPy: pip install cupy-cuda13x or cupy-cuda12x")

from robots.cuda import COLLECT, Cuda  # noqa: E402

SEED = (3 << 32) + 9
#: Standard errors by which means may differ; seeds are fixed, so what passes keeps passing.
DEVIATIONS = 4
STATE = ("q", "v", "lasted", "rewards", "ends")


def made(name: str, environments: int, steps: int, variant: str) -> Cuda:
    cuda = Cuda(name, environments, steps, "cuda", SEED, variant)
    cuda.use(policy_of(name, cuda.robot))
    return cuda


def collected(cuda: Cuda) -> Data:
    """What a call writes, on the host."""
    for array in cuda.data:
        array.fill(np.nan if array.dtype == cupy.float32 else 255)
    cuda.collect()
    return Data(*map(cupy.asnumpy, cuda.data))


def on_host(name: str, environments: int, steps: int, seed: int) -> tuple[Any, Data]:
    """What the twin comes to, and writes."""
    twin = Twin(name)
    twin.use(policy_of(name, twin.robot))
    at, data = twin.environments(environments), room(np, twin.robot, steps, environments)
    twin.collect(at, data, 0, seed)
    return at, data


@pytest.mark.parametrize("environments", [1, 33, 1000])
@pytest.mark.parametrize("variant", COLLECT)
@pytest.mark.parametrize("name", TASKS)
def test_everything_is_written_and_actions_are_the_policys(name: str, variant: str, environments: int) -> None:
    cuda = made(name, environments, 20, variant)
    for call in range(2):
        data = collected(cuda)
        assert all(np.isfinite(array).all() for array in data) and (data.ends <= 2).all()
        check_actions(policy_of(name, cuda.robot), data, 20 * call, SEED, variant)


@pytest.mark.parametrize("variant", COLLECT)
@pytest.mark.parametrize("name", TASKS)
def test_the_first_step_is_the_twins(name: str, variant: str) -> None:
    """The same starts and actions but for rounding, of which half precision has more."""
    cuda, (at, expected) = made(name, 1000, 1, variant), on_host(name, 1000, 1, SEED)
    data = collected(cuda)
    np.testing.assert_allclose(data.observations[0], expected.observations[0], atol=1e-5)
    np.testing.assert_allclose(data.actions, expected.actions, atol={"accurate": 1e-4, "matrix units": 1e-2}[variant])
    np.testing.assert_allclose(data.rewards, expected.rewards, atol={"accurate": 1e-2, "matrix units": 5e-2}[variant])
    np.testing.assert_array_equal(data.ends, expected.ends)
    np.testing.assert_array_equal(cupy.asnumpy(cuda.lasted), at.lasted)


@pytest.mark.parametrize("environments", [1, 33, 1000])
@pytest.mark.parametrize("variant", COLLECT)
@pytest.mark.parametrize("name", TASKS)
def test_ten_launches_of_one_step_are_one_of_ten(name: str, variant: str, environments: int) -> None:
    single, fused = made(name, environments, 1, variant), made(name, environments, 10, variant)
    parts, whole = [collected(single) for _ in range(10)], collected(fused)
    for key in STATE:
        np.testing.assert_array_equal(cupy.asnumpy(getattr(single, key)), cupy.asnumpy(getattr(fused, key)))
    for now, part in enumerate(parts):
        np.testing.assert_array_equal(part.observations, whole.observations[now : now + 2])
        for key in Data._fields[1:]:
            np.testing.assert_array_equal(getattr(part, key)[0], getattr(whole, key)[now])


@pytest.mark.parametrize("variant", COLLECT)
@pytest.mark.parametrize("name", TASKS)
def test_many_steps_are_the_twins_on_average(name: str, variant: str) -> None:
    count, steps = 1000, 100
    found, (_, expected) = collected(made(name, count, steps, variant)), on_host(name, count, steps, SEED + 1)
    for key in ("rewards", "ends", "observations"):
        means = [getattr(data, key).astype(float).mean(0).reshape(count, -1) for data in (found, expected)]
        errors = np.sqrt((means[0].var(0) + means[1].var(0)) / count)
        assert (np.abs(means[0].mean(0) - means[1].mean(0)) <= DEVIATIONS * errors).all(), key


@pytest.mark.parametrize("variant", COLLECT)
def test_an_episode_that_is_late_is_cut_off_unless_the_robot_has_fallen(variant: str) -> None:
    cuda = made("Hopper", 3, 1, variant)
    cuda.collect()
    cuda.lasted[:] = cupy.asarray([998, 999, 999])
    cuda.q[1, 2] = 0.1
    assert collected(cuda).ends.tolist() == [[0, 2, 1]]
    assert cupy.asnumpy(cuda.lasted).tolist() == [999, 0, 0]


def test_what_cannot_be_is_one_line() -> None:
    with pytest.raises(ValueError, match="choose one of accurate, matrix units"):
        Cuda("Hopper", 1, 1, "cuda", SEED, "exact")
    with pytest.raises(MemoryError, match=r"expected at most \d+ environments"):
        made("Hopper", 10**6, 10**6, "accurate")
