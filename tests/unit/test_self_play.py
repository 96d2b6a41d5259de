"""The parts of the self-play workload: the search's rules, the network, the server's batches, processes that fail."""

import multiprocessing
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import torch

WORKLOADS = Path(__file__).resolve().parents[2] / "experiments" / "workloads"
LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


class TicTacToe:
    """A position, as OpenSpiel would have it: x and o in a string of nine."""

    def __init__(self, cells: str) -> None:
        self.cells = cells

    def current_player(self) -> int:
        return (9 - self.cells.count(".")) % 2

    def legal_actions(self) -> list[int]:
        return [action for action, cell in enumerate(self.cells) if cell == "."]

    def child(self, action: int) -> "TicTacToe":
        return TicTacToe(self.cells[:action] + "xo"[self.current_player()] + self.cells[action + 1 :])

    def _won(self, mark: str) -> bool:
        return any(all(self.cells[cell] == mark for cell in line) for line in LINES)

    def is_terminal(self) -> bool:
        return self._won("x") or self._won("o") or "." not in self.cells

    def returns(self) -> list[float]:
        value = float(self._won("x")) - float(self._won("o"))
        return [value, -value]


def searched(cells: str, simulations: int) -> Any:
    """A search from this position, with a network that knows nothing."""
    from alphazero.search import Search

    search = Search(TicTacToe(cells))
    while search.simulations < simulations:
        leaf = search.select()
        if leaf:
            search.back_up(leaf, np.full(9, 1 / 9, np.float32), 0.0)
    return search


def most_visited(search: Any) -> int:
    action: int = search.root.actions[search.root.visits.argmax()]
    return action


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ("xx.oo....", 2),  # x wins
        ("xx.oo.x..", 5),  # o wins, though x threatens to
        ("x...x.o..", 8),  # o to move must stop the diagonal
        ("oo..x...x", 2),  # x to move must stop the row
    ],
)
def test_the_search_finds_the_only_good_move(cells: str, expected: int) -> None:
    assert most_visited(searched(cells, 200)) == expected


def test_visits_are_the_simulations() -> None:
    search = searched(".........", 150)
    assert search.root.visits.sum() == search.simulations == 150
    for child, visits in zip(search.root.children, search.root.visits, strict=True):
        assert child.visits.sum() == visits - 1  # the first visit made it


def test_a_value_has_the_other_sign_one_move_later() -> None:
    search = searched("x...o....", 300)
    totals = [
        (child.totals.sum(), total) for child, total in zip(search.root.children, search.root.totals, strict=True)
    ]
    assert any(total for _, total in totals)
    for below, total in totals:
        assert total == -below


def test_what_is_good_for_one_is_as_good_for_the_other() -> None:
    first, second = searched("xx.oo....", 100), searched("oo.xx...x", 100)
    assert (first.root.player, second.root.player) == (0, 1)
    assert first.root.totals.max() > 0
    assert second.root.totals.max() > 0
    assert most_visited(first) == most_visited(second) == 2


def test_a_value_of_the_network_is_the_movers() -> None:
    from alphazero.search import Search

    search = Search(TicTacToe("." * 9))
    for value in (0.0, 0.5):
        search.back_up(search.select(), np.full(9, 1 / 9, np.float32), value)
    assert search.root.totals.sum() == -0.5


def test_priors_are_those_of_legal_moves() -> None:
    from alphazero.search import Search

    search = Search(TicTacToe("xo......."))
    policy = np.zeros(9, np.float32)
    policy[[0, 1, 4]] = (0.5, 0.25, 0.25)
    search.back_up(search.select(), policy, 0.0)
    assert search.root.actions == [2, 3, 4, 5, 6, 7, 8]
    assert search.root.priors == pytest.approx([0, 0, 1, 0, 0, 0, 0], abs=1e-6)
    search.add_noise(np.random.default_rng(0))
    assert search.root.priors.sum() == pytest.approx(1)
    assert 0.75 <= search.root.priors[search.root.actions.index(4)] <= 1


@pytest.mark.parametrize("board_size", [5, 9])
def test_evaluations_are_probabilities_and_values_whatever_else_is_in_the_batch(board_size: int) -> None:
    from alphazero.network import PLANES, LocalEvaluator, Network

    torch.manual_seed(0)
    evaluator = LocalEvaluator(Network(board_size, channels=8, blocks=2), "cpu")
    observations = np.random.default_rng(0).random((3, PLANES, board_size, board_size), np.float32)
    policies, values = evaluator.evaluate(observations)
    assert (policies.shape, values.shape) == ((3, board_size**2 + 1), (3,))
    assert policies.sum(axis=1) == pytest.approx(np.ones(3), abs=1e-5)
    assert (abs(values) <= 1).all()
    alone, value = evaluator.evaluate(observations[1:2])
    assert alone[0] == pytest.approx(policies[1], abs=1e-5)
    assert value[0] == pytest.approx(values[1], abs=1e-5)


def test_the_server_answers_each_worker_and_goes_on_without_those_that_are_done() -> None:
    from alphazero.network import LocalEvaluator, Network
    from alphazero.server import Client, RemoteEvaluator, serve

    torch.manual_seed(0)
    evaluator = LocalEvaluator(Network(5, channels=4, blocks=1), "cpu")
    rounds = {0: 1, 1: 3}  # of each worker
    answers: dict[tuple[int, int], Any] = {}
    random = np.random.default_rng(0)
    asked = {
        (worker, turn): random.random((worker + 1, 4, 5, 5), np.float32)
        for worker, count in rounds.items()
        for turn in range(count)
    }
    requests = [multiprocessing.Pipe(duplex=False) for _ in rounds]
    replies = [multiprocessing.Pipe(duplex=False) for _ in rounds]

    def work(worker: int) -> None:
        remote = RemoteEvaluator(requests[worker][1], replies[worker][0], actions=26)
        for turn in range(rounds[worker]):
            answers[worker, turn] = remote.evaluate(asked[worker, turn])
        requests[worker][1].close()

    threads = [threading.Thread(target=work, args=(worker,)) for worker in rounds]
    for thread in threads:
        thread.start()
    clients = [Client(requests[worker][0], replies[worker][1]) for worker in rounds]
    served = serve(clients, evaluator, (4, 5, 5))
    for thread in threads:
        thread.join()
    assert (served.batches, served.positions) == (3, 1 + 3 * 2)
    for key, observations in asked.items():
        for found, known in zip(answers[key], evaluator.evaluate(observations), strict=True):
            assert found == pytest.approx(known, abs=1e-5)


def test_results_of_processes() -> None:
    from alphazero.group import Group

    with Group() as group:
        group.start("one", os.getpid)
        group.start("two", os.getpid)
        second, first = group.result("two"), group.result("one")
    assert len({first, second, os.getpid()}) == 3


@pytest.mark.parametrize(
    ("work", "argument", "ending"),
    [(os._exit, 3, "with status 3"), (signal.raise_signal, signal.SIGKILL, "by signal SIGKILL")],
)
def test_where_a_process_fails_the_others_end(work: Any, argument: int, ending: str) -> None:
    from alphazero.group import Group, ProcessFailedError

    def run() -> None:
        with Group() as group:
            group.start("sleeper", time.sleep, 10_000)
            group.start("failing", work, argument)
            group.result("sleeper")

    with pytest.raises(ProcessFailedError, match=rf"failing \(pid \d+\) ended {ending}"):
        run()
    assert not [child for child in psutil.Process().children() if "spawn_main" in " ".join(child.cmdline())]
