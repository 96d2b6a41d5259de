"""This file evaluates the positions of all workers in one process: a batch is what they all have in flight."""

from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection

import numpy as np

from alphazero.network import Evaluations, Evaluator, Observations
from rlscope import operation


@dataclass
class Served:
    """This is what the server did.

    Attributes:
        batches: evaluated.
        positions: in all of them.
    """

    batches: int = 0
    positions: int = 0


class RemoteEvaluator:
    """The server, as a worker sees it.

    Args:
        requests: to the server.
        replies: from it.
        actions: of the game, legal or not.
    """

    def __init__(self, requests: Connection, replies: Connection, actions: int) -> None:
        self._requests, self._replies, self._actions = requests, replies, actions

    def evaluate(self, observations: Observations) -> Evaluations:
        """Return the network's verdict on all positions at once, together with those of other workers."""
        with operation("inference"):
            self._requests.send_bytes(observations.tobytes())
            reply = np.frombuffer(self._replies.recv_bytes(), np.float32).reshape(-1, self._actions + 1)
            return reply[:, :-1], reply[:, -1]


@dataclass(frozen=True)
class Client:
    """A worker, as the server sees it."""

    requests: Connection
    replies: Connection


def serve(clients: Sequence[Client], evaluator: Evaluator, shape: tuple[int, ...]) -> Served:
    """Evaluate until all workers have closed their connections.

    A batch waits for a request of each worker that goes on, so that batches are full, and the same in each run.

    Args:
        clients: the workers.
        evaluator: of positions.
        shape: of the observation of one.
    """
    served = Served()
    asking = list(clients)
    while requests := [(client, request) for client in asking if (request := receive(client)) is not None]:
        asking = [client for client, _ in requests]
        parts = [np.frombuffer(request, np.float32).reshape(-1, *shape) for _, request in requests]
        policies, values = evaluator.evaluate(np.concatenate(parts))
        replies = np.column_stack((policies, values))
        ends = np.cumsum([len(part) for part in parts])
        for client, reply in zip(asking, np.split(replies, ends[:-1]), strict=True):
            client.replies.send_bytes(reply.tobytes())
        served.batches += 1
        served.positions += len(replies)
    return served


def receive(client: Client) -> bytes | None:
    """Return the worker's next request, None when there will be none."""
    try:
        return client.requests.recv_bytes()
    except EOFError:
        return None
