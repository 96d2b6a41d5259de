"""Robots in C++ step as MuJoCo's models do, and their contacts and energies obey the laws.

The tolerances were set before anything was compared. In double precision what remains is rounding, and where MuJoCo's
solver stops. In single precision a number is rounded by 6e-8 of itself: sums over a few bodies are then within 1e-5 of
the largest; an acceleration of up to 1e4 m/s², solved for with a mass matrix of condition 1e3, is off by up to a tenth,
of which a step of 0.01 s makes 1e-3 of velocity.
"""

import functools
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from framework_runs import PROGRAMS, WORKLOADS, run_in
from robot_reference import (
    STATES,
    TOLERANCES,
    Array,
    actions_of,
    environment_step,
    height_of,
    model_of,
    moved,
    reference,
    world_axes,
)
from robots.cpp import Twin
from robots.model import TASKS, mujoco_model

CASES = [pytest.param(name, kind, id=f"{name} {kind.__name__}") for name in TASKS for kind in TOLERANCES]


@functools.cache
def twin(name: str, kind: Any) -> Twin:
    return Twin(name, kind)


def check(found: Array, expected: Array, tolerance: float) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("name", TASKS)
def test_the_reference_has_flight_contact_and_limits(name: str) -> None:
    steps, robot = reference(name), twin(name, np.float64).robot
    assert (steps.contacts == 0).sum() > STATES / 20
    assert (steps.contacts >= 2).sum() > STATES / 20
    hinges = steps.q[:, robot.positions - robot.dofs :]
    is_beyond = (hinges < robot.low) | (hinges > robot.high)
    assert (is_beyond & robot.is_limited).any(1).sum() > STATES / 20


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_mass_matrix_and_bias_forces_are_mujocos(name: str, kind: Any) -> None:
    steps = reference(name)
    masses, biases = twin(name, kind).matrices(steps.q, steps.v)
    check(masses, steps.masses, TOLERANCES[kind][0])
    check(biases, steps.biases, TOLERANCES[kind][0])


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_one_step_from_each_state_is_mujocos(name: str, kind: Any) -> None:
    steps = reference(name)
    q, v, iterations = twin(name, kind).step(steps.q, steps.v, steps.actions)
    check(v, steps.next_v, TOLERANCES[kind][1])
    np.testing.assert_allclose(q, steps.next_q, rtol=0, atol=TOLERANCES[kind][2])
    assert (iterations < 10).all(), "Newton's method needs few steps, or it would not pay"


@pytest.mark.parametrize("name", TASKS)
def test_forces_do_the_work_that_the_energy_changes_by(name: str) -> None:
    """Of v · bias, gravity takes what the potential changes by, the rest is half of v · dM/dt · v: the energy of a
    robot on which nothing else acts stays as it is."""
    steps, robot = reference(name), twin(name, np.float64)
    seconds = 1e-6
    places = [moved(name, steps.q, steps.v, sign * seconds) for sign in (1, -1)]
    speeds = speeds_of(name, steps.q, steps.v)
    later, earlier = (robot.matrices(q, steps.v)[0] for q in places)
    rate = np.einsum("ni,nij,nj->n", speeds, later - earlier, speeds) / (2 * seconds)
    _, biases = robot.matrices(steps.q, steps.v)
    _, weights = robot.matrices(steps.q, 0 * steps.v)
    np.testing.assert_allclose(np.einsum("ni,ni->n", speeds, biases - weights), rate / 2, rtol=1e-5, atol=1e-5)
    energies = [potential(name, q) for q in places]
    change = (energies[0] - energies[1]) / (2 * seconds)
    np.testing.assert_allclose(np.einsum("ni,ni->n", speeds, weights), change, rtol=1e-5, atol=1e-4)


def speeds_of(name: str, q: Array, v: Array) -> Array:
    """Speeds in the axes of the world."""
    model, speeds = model_of(name), []
    data = mujoco.MjData(model)
    for data.qpos[:], velocities in zip(q, v, strict=True):
        mujoco.mj_kinematics(model, data)
        speeds.append(world_axes(model, data) @ velocities)
    return np.array(speeds)


def potential(name: str, positions: Array) -> Array:
    """MuJoCo's potential energy of gravity alone."""
    model = mujoco_model(name)
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    model.jnt_stiffness[:] = 0
    data = mujoco.MjData(model)
    energies = []
    for position in positions:
        data.qpos[:] = position
        mujoco.mj_forward(model, data)
        energies.append(data.energy[0])
    return np.array(energies)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_the_floor_pushes_up_and_rubs_within_the_cone(name: str, kind: Any) -> None:
    """What acts on the robot as a whole, besides its weight, is the floor."""
    steps, robot = reference(name), twin(name, kind)
    masses, biases = robot.matrices(steps.q, steps.v)
    _, v, _ = robot.step(steps.q, steps.v, steps.actions)
    accelerations = speeds_of(name, steps.q, v.astype(float) - steps.v.astype(kind)) / robot.robot.timestep
    *along, up = (np.einsum("nij,nj->ni", masses, accelerations) + biases).T[: robot.robot.hinges // 2 + 1]
    error = 10 * TOLERANCES[kind][1] * np.abs(biases).max()
    flying = steps.contacts == 0
    sideways = np.linalg.norm(along, axis=0)
    assert max(np.abs(up[flying]).max(), sideways[flying].max()) < error
    assert (up > -error).all() and up.max() > 10 * error
    assert (sideways <= max(robot.robot.point_friction) * up + 3 * error).all()


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_where_a_robot_stands_does_not_matter(name: str, kind: Any) -> None:
    """The floor is everywhere the same."""
    steps, robot = reference(name), twin(name, kind)
    away = steps.q + np.eye(robot.robot.positions)[0] * 1000
    for found, expected in zip(
        robot.step(away, steps.v, steps.actions)[1:], robot.step(steps.q, steps.v, steps.actions)[1:], strict=True
    ):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", TASKS)
def test_a_robot_that_is_left_alone_comes_to_rest_on_the_floor(name: str) -> None:
    """It then weighs what it does: contact and weight balance, and no capsule is deep in the floor."""
    robot = twin(name, np.float32)
    q = np.array([robot.robot.start])
    v = np.zeros((1, robot.robot.dofs))
    nothing = np.zeros((1, len(robot.robot.motor)))
    for _ in range(round(10 / robot.robot.timestep)):
        q, v, iterations = robot.step(q, v, nothing)
    assert np.abs(v).max() < 0.02, v
    assert iterations[0] >= 1, "it touches the floor"


SEED = (3 << 32) + 9


@pytest.mark.parametrize("name", TASKS)
def test_environments_step_end_and_begin_as_gymnasiums(name: str) -> None:
    """Each step of each environment, from the state before it."""
    robot, count, task = twin(name, np.float32), 8, TASKS[name]
    at = robot.environments(count)
    robot.simulate(at, 0, 0, SEED)
    noise = at.q - np.array(robot.robot.start, np.float32)[:, None]
    assert 0.5 * task.position_noise < np.abs(noise).max() <= task.position_noise
    assert 0.5 * task.speed_noise < np.abs(at.v).max() < 5 * task.speed_noise
    first, ended = 1, 0
    for now in range(first, first + 40):
        before = at._replace(**{key: value.copy() for key, value in at._asdict().items()})
        robot.simulate(at, 1, now, SEED)
        actions = actions_of(name, count, now, SEED)
        for i in range(count):
            q, v, reward, is_healthy = environment_step(name, before.q[:, i], before.v[:, i], actions[i])
            assert at.rewards[i] - before.rewards[i] == pytest.approx(reward, abs=2e-3 * max(1, np.abs(v).max()))
            if at.ends[i] == before.ends[i]:
                assert is_healthy and at.lasted[i] == before.lasted[i] + 1
                np.testing.assert_allclose(at.q[:, i], q, atol=1e-3)
                np.testing.assert_allclose(at.v[:, i], v, atol=2e-2 * max(1, np.abs(v).max()))
            else:
                assert not is_healthy and at.lasted[i] == 0
                ended += 1
    assert bool(ended) == (name != "HalfCheetah"), "random actions make all but the cheetah fall"


@pytest.mark.parametrize("name", TASKS)
def test_ten_launches_of_one_step_are_one_of_ten(name: str) -> None:
    robot = twin(name, np.float32)
    single, fused = robot.environments(5), robot.environments(5)
    for now in range(10):
        robot.simulate(single, 1, now, SEED)
    robot.simulate(fused, 10, 0, SEED)
    for one, other in zip(single, fused, strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_episode_is_cut_off_after_a_thousand_steps() -> None:
    robot = twin("HalfCheetah", np.float32)
    at = robot.environments(1)
    robot.simulate(at, 999, 0, SEED)
    assert (at.lasted[0], at.ends[0]) == (999, 0)
    robot.simulate(at, 1, 999, SEED)
    assert (at.lasted[0], at.ends[0]) == (0, 1)


#: Standard errors by which means may differ; seeds are fixed, so what passes keeps passing.
DEVIATIONS = 4


def test_whole_episodes_are_alike_on_average() -> None:
    """Single precision leaves MuJoCo's trajectory after some contacts; returns, heights, speeds and contacts stay."""
    name, count, steps = "HalfCheetah", 64, 100
    robot = twin(name, np.float32)
    at = robot.environments(count)
    robot.simulate(at, 0, 0, SEED)
    starts = (at.q.copy(), at.v.copy())
    robot.simulate(at, steps, 1, SEED)
    expected = np.array([episode(name, starts[0][:, i], starts[1][:, i], i, steps) for i in range(count)])
    found = np.array([(at.rewards[i], *what_is_seen(name, at.q[:, i], at.v[:, i])) for i in range(count)])
    errors = np.sqrt((found.var(0) + expected.var(0)) / count)
    assert (errors > 0).all()
    assert (np.abs(found.mean(0) - expected.mean(0)) < DEVIATIONS * errors).all(), (found.mean(0), expected.mean(0))


def episode(name: str, q: Array, v: Array, seed: int, steps: int) -> tuple[float, ...]:
    """The return, and what is seen at the end, with other random actions."""
    random, total = np.random.default_rng(seed), 0.0
    for _ in range(steps):
        q, v, reward, _ = environment_step(name, q, v, random.uniform(-1, 1, 6))
        total += reward
    return (total, *what_is_seen(name, q, v))


def what_is_seen(name: str, q: Array, v: Array) -> tuple[float, float, float]:
    """Height, kinetic energy, and whether the robot touches the floor."""
    model = model_of(name)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = q, v
    mujoco.mj_forward(model, data)
    product = np.zeros(model.nv)
    mujoco.mj_mulM(model, data, product, data.qvel)
    return float(height_of(name, q)), float(product @ data.qvel / 2), float(data.ncon > 0)


# XLA compiles this one for half a minute, and the half-cheetah for minutes.
@pytest.mark.slow
@pytest.mark.parametrize("name", ["Hopper", "Ant"])
def test_xla_steps_as_the_kernel_does(name: str, tmp_path: Path) -> None:
    """The same equations on arrays: each step is MuJoCo's, and environments come to what they do in C++."""
    steps, states, seen = reference(name), tmp_path / "states.npz", tmp_path / "seen.npz"
    np.savez(states, q=steps.q, v=steps.v, actions=steps.actions)
    finished = run_in("pytorch", PROGRAMS / "robot_steps.py", WORKLOADS, name, states, seen)
    assert finished.returncode == 0, finished.stderr
    found = np.load(seen)
    check(found["v"], steps.next_v, TOLERANCES[np.float32][1])
    np.testing.assert_allclose(found["q"], steps.next_q, rtol=0, atol=TOLERANCES[np.float32][2])
    robot = twin(name, np.float32)
    at = robot.environments(64)
    robot.simulate(at, 20, 0, SEED)
    errors = np.sqrt((found["rewards"].var() + at.rewards.var()) / 64)
    assert abs(found["rewards"].mean() - at.rewards.mean()) < DEVIATIONS * errors
    assert (found["lasted"] + 20 * (found["ends"] > 0) >= 20).all()
