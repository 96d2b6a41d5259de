"""Where a measured part begins and ends, of trainings whose clock the test sets."""

from types import SimpleNamespace

import pytest

from rlscope.trial import part_search
from rlscope.trial.part_search import PartSearch

MS = 1_000_000


class Training:
    """A training of so many steps between updates, evaluated each so many steps, until the part is found."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_ns = 0
        self.steps = self.updates = self.evaluations = 0
        clock = SimpleNamespace(process_time_ns=lambda: self.now_ns, perf_counter_ns=lambda: self.now_ns)
        monkeypatch.setattr(part_search, "time", clock)
        self.search = PartSearch()
        self.search.begin(0)

    def goes_on(self, iterations: int, steps: int, updates: int, each_steps: int, warm_up: int = 0) -> bool:
        """Train; return whether the part was found before the end."""
        for _ in range(iterations):
            for _ in range(steps):
                self.search.note_step()
                self.steps += 1
                self.now_ns += MS
                if each_steps and self.steps % each_steps == 0:
                    self.evaluations += 1
                    self.now_ns += 100 * MS
            if self.steps <= warm_up:
                continue
            for _ in range(updates):
                self.updates += 1
                self.now_ns += 10 * MS
                self.search.mark(self.updates, self.evaluations, True)
                if self.search.is_enough():
                    return True
        return False


def test_a_part_has_as_many_evaluations_as_its_updates_make(monkeypatch: pytest.MonkeyPatch) -> None:
    training = Training(monkeypatch)
    assert training.goes_on(1000, 1, 1, 50, warm_up=100)
    # Evaluated after steps 150, 200 and so on: after updates 50 and 200 there are three of 150.
    assert training.search.found(False) == (50, 200)


@pytest.mark.parametrize("each_steps", [0, 32])
def test_evaluations_of_each_iteration_leave_a_part_as_it_is(each_steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    training = Training(monkeypatch)
    assert training.goes_on(20, 64, 24, each_steps)
    assert training.search.found(False) == (24, 96)


@pytest.mark.parametrize(
    ("updates", "each_steps", "found"),
    [
        (170, 50, (50, 150)),  # to its last evaluation
        (95, 50, (2, 95)),  # of one evaluation nothing is a period
        (25, 10, (0, 25)),  # a part that would be short is all there is
    ],
)
def test_a_training_that_ends_by_itself_is_measured_as_far_as_it_goes(
    updates: int, each_steps: int, found: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    training = Training(monkeypatch)
    assert not training.goes_on(updates, 1, 1, each_steps)
    assert training.search.found(True) == found


def test_steps_are_marks_where_nothing_is_updated(monkeypatch: pytest.MonkeyPatch) -> None:
    training = Training(monkeypatch)
    for number in range(1, 2000):
        training.search.note_step()
        training.now_ns += MS
        training.search.mark(number, 0, False)
        if training.search.is_enough():
            break
    assert training.search.found(False) == (2, 1002)


def test_nothing_is_found_where_nothing_was_counted() -> None:
    assert PartSearch().found(True) == (0, 0)
