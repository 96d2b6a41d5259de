"""This file runs one generation: it starts and connects the processes of self-play, training and evaluation."""

from pathlib import Path
from typing import Any

import torch

from alphazero import roles
from alphazero.group import CONTEXT, Group
from alphazero.network import Network
from alphazero.server import Client
from alphazero.settings import Settings


def run(settings: Settings, folder: Path) -> dict[str, Any]:
    """Play, train and evaluate.

    Args:
        settings: of the run.
        folder: for the networks' parameters.

    Returns:
        What there is to say of it.

    Raises:
        ProcessFailedError: a process ended before its work was done.
    """
    initial, trained = folder / "initial.pt", folder / "candidate.pt"
    torch.manual_seed(settings.seed)
    torch.save(Network(settings.board_size, settings.channels, settings.blocks).state_dict(), initial)
    with Group() as group:
        names = start(group, settings, initial, trained)
        return summary(settings, {name: group.result(name) for name in names})


def start(group: Group, settings: Settings, initial: Path, trained: Path) -> list[str]:
    """Start all processes; each waits for what it needs. Return their names."""
    games = [CONTEXT.Pipe(duplex=False) for _ in range(settings.workers)]
    candidate = CONTEXT.Pipe(duplex=False)
    served = settings.inference == "server"
    requests = [CONTEXT.Pipe(duplex=False) for _ in range(settings.workers * served)]
    replies = [CONTEXT.Pipe(duplex=False) for _ in range(settings.workers * served)]
    workers = [f"self_play_{index}" for index in range(settings.workers)]
    for index, name in enumerate(workers):
        server = (requests[index][1], replies[index][0]) if served else None
        sending = games[index][1]
        gives = [sending, *(server or ())]
        group.start(name, roles.self_play, settings, index, initial, sending, server, gives=gives)
    if served:
        clients = [Client(asked[0], answered[1]) for asked, answered in zip(requests, replies, strict=True)]
        gives = [end for client in clients for end in (client.requests, client.replies)]
        group.start("inference_server", roles.inference_server, settings, initial, clients, gives=gives)
    receiving = [end for end, _ in games]
    gives = [*receiving, candidate[1]]
    group.start("training", roles.train, settings, initial, trained, receiving, candidate[1], gives=gives)
    group.start("evaluation", roles.evaluate, settings, initial, candidate[0], gives=[candidate[0]])
    return [*workers, *["inference_server"] * served, "training", "evaluation"]


def summary(settings: Settings, done: dict[str, roles.Done]) -> dict[str, Any]:
    """Return what there is to say of a run whose processes are done."""
    workers = [done[f"self_play_{index}"] for index in range(settings.workers)]
    batching = [done["inference_server"]] if settings.inference == "server" else workers
    self_play_s = max(each.ended_s for each in workers) - min(each.began_s for each in workers)
    totals = {name: sum(int(each.figures[name]) for each in workers) for name in ("games", "moves", "evaluations")}
    training, evaluation = done["training"], done["evaluation"]
    return {
        "inference": settings.inference,
        "device": settings.device,
        "workers": settings.workers,
        **totals,
        "moves_per_second": totals["moves"] / self_play_s,
        "evaluations_per_second": totals["evaluations"] / self_play_s,
        "mean_batch": totals["evaluations"] / sum(each.figures["batches"] for each in batching),
        "seconds": {
            "self_play": self_play_s,
            "training": training.ended_s - training.began_s,
            "evaluation": evaluation.ended_s - evaluation.began_s,
        },
        "loss": training.figures["loss"],
        "evaluation_games": evaluation.figures["games"],
        "candidate_wins": evaluation.figures["wins"],
    }
