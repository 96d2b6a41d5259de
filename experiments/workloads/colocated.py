"""Tune a small language model in two processes on one device: one generates, one trains and sends it weights.

    python colocated.py --device cuda --weights ipc --steps 20
    python colocated.py --device cuda --weights pipe --overlap

The processes take turns: the trainer waits for a batch, the rollout process for the weights that came of it. With
`--overlap` a batch is made with the weights before the last ones, while the trainer updates. Weights travel as handles
of memory on the device, which the other process opens (`ipc`, on a CPU through shared memory), or as copies through a
pipe. Prints one line of JSON: seconds of both processes by what they did, by a stopwatch that waits for the device.
"""

import argparse
import json
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from multiprocessing.connection import Connection
from typing import Any

import torch
from torch import multiprocessing, nn

from rlscope import operation, report_progress

PARTS_OF_ROLLOUT = ("pause", "load", "generate")
PARTS_OF_TRAINER = ("wait_for_batch", "reward", "update_actor", "gather", "transfer")
VOCABULARY = 256
PROMPT_TOKENS = 8
#: What stands around each part, its stage first. The trainer waits for a batch in none.
SYNCHRONISATION = ("synchronisation", "sync_weights")
OUTER_OPERATIONS = {
    "generate": ("inference",),
    "reward": ("simulation",),
    "update_actor": ("backpropagation",),
    "pause": SYNCHRONISATION,
    "gather": SYNCHRONISATION,
    "transfer": SYNCHRONISATION,
    "load": SYNCHRONISATION,
}


class Stopwatch:
    """This counts seconds by part, and waits for the device before it looks."""

    def __init__(self, device: torch.device, parts: Iterable[str]) -> None:
        self.device = device
        self.seconds: dict[str, float] = dict.fromkeys(parts, 0.0)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Count the block's time, and name its stage and operation."""
        start_s = time.perf_counter()
        with ExitStack() as operations:
            for each in (*OUTER_OPERATIONS.get(name, ()), name):
                operations.enter_context(operation(each))
            yield
            if self.device.type == "cuda":
                torch.cuda.synchronize()
        self.seconds[name] += time.perf_counter() - start_s


class Model(nn.Module):
    """This is a causal transformer with random weights."""

    def __init__(self, width: int, layers: int, longest: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.places = nn.Embedding(longest, width)
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the logits of the token after each one."""
        length = tokens.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(length, device=tokens.device)
        inputs = self.tokens(tokens) + self.places(torch.arange(length, device=tokens.device))
        logits: torch.Tensor = self.head(self.layers(inputs, mask=mask, is_causal=True))
        return logits


def new_model(options: argparse.Namespace) -> Model:
    """Make a model, with the same weights in every process."""
    torch.manual_seed(1)
    return Model(options.width, options.layers, PROMPT_TOKENS + options.tokens).to(options.device)


@torch.no_grad()
def generate(model: Model, prompts: torch.Tensor, tokens: int) -> torch.Tensor:
    """Sample so many tokens behind the prompts."""
    for _ in range(tokens):
        chances = torch.softmax(model(prompts)[:, -1], dim=-1)
        prompts = torch.cat([prompts, torch.multinomial(chances, 1)], dim=1)
    return prompts


def reward(completion: list[int]) -> float:
    """Return the share of tokens that are larger than the one before: judged in Python, on the CPU."""
    return sum(left < right for left, right in pairwise(completion)) / len(completion)


def update(model: Model, optimizer: torch.optim.Optimizer, batch: torch.Tensor, rewards: torch.Tensor) -> None:
    """Take one step up the policy gradient."""
    logits = model(batch[:, :-1])[:, PROMPT_TOKENS - 1 :]
    chosen = torch.log_softmax(logits, dim=-1).gather(-1, batch[:, PROMPT_TOKENS:, None]).squeeze(-1)
    advantages = (rewards - rewards.mean()) / (rewards.std() + 1e-4)
    loss = -(advantages[:, None] * chosen).mean()
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()


def needed_version(batch: int, overlaps: bool) -> int:
    """Return which weights a batch is made with: those of the batch before, or of the one before that."""
    return max(batch - 1, 0) if overlaps else batch


def roll_out(connection: Connection, options: argparse.Namespace) -> None:
    """Make batches, each with the weights that it needs, and send the stopwatch's seconds last."""
    device = torch.device(options.device)
    model, stopwatch = new_model(options), Stopwatch(device, PARTS_OF_ROLLOUT)
    mailboxes = connection.recv() if options.weights == "ipc" else []
    version = 0
    with operation("training_loop"):
        for batch in range(options.steps):
            while version < needed_version(batch, options.overlap):
                with stopwatch.part("pause"):
                    version, weights = connection.recv()
                with stopwatch.part("load"):
                    model.load_state_dict(mailboxes[version % 2] if options.weights == "ipc" else weights)
            with stopwatch.part("generate"):
                prompts = torch.randint(0, VOCABULARY, (options.prompts, PROMPT_TOKENS), device=device)
                made = generate(model, prompts, options.tokens).cpu()
            connection.send(made.numpy())
    connection.send(stopwatch.seconds)
    connection.recv()  # the trainer's memory, which may be open here, stays until it has read this


def train(connection: Connection, options: argparse.Namespace) -> dict[str, Any]:
    """Train on the batches that come, and send weights."""
    device = torch.device(options.device)
    model, stopwatch = new_model(options), Stopwatch(device, PARTS_OF_TRAINER)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    # Two, so that one is written while the other process may still read the other.
    mailboxes = [{name: each.clone() for name, each in model.state_dict().items()} for _ in range(2)]
    if options.weights == "ipc":
        connection.send(mailboxes)
    with operation("training_loop"):
        for step in range(options.steps):
            with stopwatch.part("wait_for_batch"):
                batch = torch.from_numpy(connection.recv()).to(device)
            with stopwatch.part("reward"):
                rewards = [reward(completion) for completion in batch[:, PROMPT_TOKENS:].tolist()]
            with stopwatch.part("update_actor"):
                update(model, optimizer, batch, torch.tensor(rewards, device=device))
            version = step + 1
            if version <= needed_version(options.steps - 1, options.overlap):
                send_weights(connection, model, version, mailboxes[version % 2], options, stopwatch)
            report_progress(timesteps=version * options.prompts, total_timesteps=options.steps * options.prompts)
    seconds_of_rollout = connection.recv()
    connection.send("done")
    weights_bytes = sum(each.numel() * each.element_size() for each in model.state_dict().values())
    return {"trainer": stopwatch.seconds, "rollout": seconds_of_rollout, "weights_bytes": weights_bytes}


def send_weights(
    connection: Connection,
    model: Model,
    version: int,
    mailbox: dict[str, torch.Tensor],
    options: argparse.Namespace,
    stopwatch: Stopwatch,
) -> None:
    """Copy the weights to where the other process can take them, and tell it."""
    with stopwatch.part("gather"):
        if options.weights == "ipc":
            for name, each in model.state_dict().items():
                mailbox[name].copy_(each)
            weights = None
        else:
            weights = {name: each.cpu() for name, each in model.state_dict().items()}
    with stopwatch.part("transfer"):
        connection.send((version, weights))


def parsed_options() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--weights", choices=("ipc", "pipe"), default="ipc", help="how they get to the rollout process")
    parser.add_argument("--overlap", action="store_true", help="generate while the trainer updates")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--prompts", type=int, default=16, help="in a batch")
    parser.add_argument("--tokens", type=int, default=32, help="to generate for each prompt")
    parser.add_argument("--width", type=int, default=64, help="of the model")
    parser.add_argument("--layers", type=int, default=2, help="of the model")
    return parser.parse_args()


def main() -> None:
    """Start the rollout process and train."""
    options = parsed_options()
    if options.device == "cpu":
        torch.set_num_threads(1)
    processes = multiprocessing.get_context("spawn")
    here, there = processes.Pipe()
    rollout = processes.Process(target=roll_out, args=(there, options), name="rollout")
    rollout.start()
    there.close()
    found = train(here, options)
    rollout.join()
    print(json.dumps(found))
    raise SystemExit(rollout.exitcode)


if __name__ == "__main__":
    main()
