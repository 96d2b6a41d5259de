"""Slots: cores that are a run's own."""

import pytest

from experiments.harness.ray_scheduler import slots_of
from experiments.harness.slots import cores_of_machine, make_slots, numbers


@pytest.mark.parametrize(
    ("cores", "needed", "slots"),
    [
        ([(0,), (1,)], 2, [(0, 1)]),
        ([(0,)], 2, [(0,)]),
        ([(0,), (1,), (2,), (3,), (4,)], 2, [(0, 1), (2, 3)]),
        ([(0, 4), (1, 5), (2, 6), (3, 7)], 2, [(0, 1, 4, 5), (2, 3, 6, 7)]),
        ([(0,), (1,), (2,)], 5, [(0, 1, 2)]),
    ],
)
def test_a_machine_is_divided_by_cores(cores: list[tuple[int, ...]], needed: int, slots: list[tuple[int, ...]]) -> None:
    assert make_slots(cores, needed) == slots


def test_the_kernels_list_of_numbers() -> None:
    assert numbers("0-2,8,10-11\n") == {0, 1, 2, 8, 10, 11}


def test_this_machine_has_each_core_once() -> None:
    threads = [thread for core in cores_of_machine() for thread in core]
    assert len(threads) == len(set(threads)) > 0


@pytest.mark.parametrize(
    ("resources", "gpus", "found"),
    [
        ({"CPU": 4.0}, 0, [2, 2]),
        ({"CPU": 3.0}, 0, [2]),
        ({"CPU": 1.0}, 0, [1]),
        ({}, 0, []),
        ({"CPU": 4.0}, 1, []),
        ({"CPU": 4.0, "GPU": 1.0}, 1, [2]),
        ({"CPU": 4.0, "GPU": 8.0}, 1, [2, 2]),
    ],
)
def test_a_node_has_as_many_slots_as_ray_has_room_for(resources: dict[str, float], gpus: int, found: list[int]) -> None:
    slots = slots_of("id", "red", [(0, 1), (2, 3)], resources, gpus)
    assert [slot.cpus for slot in slots] == found
    assert all(slot.gpus == gpus for slot in slots)
