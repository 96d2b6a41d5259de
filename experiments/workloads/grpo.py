"""Tune a small language model with GRPO, in one of three ways to arrange generation, reward and update.

    python grpo.py --mode overlapped --iterations 5

The model has random weights, and learns to copy words (copying.py), at first how long an answer is; nothing is
downloaded. An engine with weights of its own generates (token_engine.py), as servers of models do.

synchronous: one process generates the samples of a batch, rewards them, and updates the model, in turn.
overlapped:  a process of its own generates one batch after the other, and takes new weights between two tokens. Batches
             that are more than --staleness updates old when they are asked for are discarded.
agent:       each sample is an asyncio task that may call a tool; one task generates for all. With --staleness 0 an
             update waits for all samples. With 1 as many again are under way, and a sample during which there was more
             than one update is discarded; one that is complete waits for the others of its prompt.

Prints one line of JSON: the seconds of each iteration by its own stopwatch, each sample, and each step of the engine.
"""

import asyncio
import json
import random
import statistics
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import grpo_settings
import torch
from copying import ALPHABET, ASK, END, PROMPT_LENGTH, WORD_LENGTH
from language_model import LanguageModel
from option_types import at_least, whole
from samples import Prompts, Sample, group_advantages
from stopwatch import STOPWATCH, operation
from token_engine import Engine
from torch import Tensor, multiprocessing

import rlscope

CLIP, KL_WEIGHT, MOST_GRADIENT = 0.2, 0.01, 1.0
#: Of the log-normal time that a call of the tool takes: the standard deviation of its logarithm.
TOOL_SPREAD = 1.0


@dataclass(frozen=True)
class Settings(grpo_settings.Settings):
    """This is what a training is like.

    Attributes:
        mode: how generation, reward and update are arranged.
        slots: how many samples are generated at once.
        staleness: how many updates a sample may be old when it is trained on.
        tool_ms: milliseconds that half of the calls of the tool take at most.
    """

    mode: str
    slots: int
    staleness: int
    tool_ms: int

    @property
    def longest(self) -> int:
        """Return the most tokens that a prompt has with its answer."""
        return PROMPT_LENGTH + self.tokens


def make_model(settings: Settings) -> LanguageModel:
    """Return the model as it is before training, the same each time, in a process that computes on one core.

    Matrices are so small that a second thread only waits for the first, and where cores are taken keeps the next one.
    """
    torch.set_num_threads(1)
    torch.manual_seed(settings.seed)
    with torch.device(settings.device):
        return LanguageModel(len(ALPHABET), settings.longest, settings.layers, settings.width)


def make_engine(settings: Settings) -> Engine[Sample]:
    """Return an engine that has the model as it is before training."""
    stops = (END, ASK) if settings.mode == "agent" else (END,)
    return Engine(make_model(settings), settings.slots, settings.longest, stops)


def judge(sample: Sample) -> None:
    """Let the verifier look at a sample."""
    with operation("simulation", "reward"):
        sample.judge()


class Trainer:
    """The model that is trained, and how far that is.

    Attributes:
        version: how many updates the model has seen.
        iterations: what the line of JSON says of each.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.model, self._reference = make_model(settings), make_model(settings)
        self._optimizer = torch.optim.AdamW(self.model.parameters(), settings.learning_rate)
        self.version = 0
        self.iterations: list[dict[str, Any]] = []
        self._start_s = time.perf_counter()

    def start(self) -> None:
        """Begin the first iteration."""
        STOPWATCH.clear()
        self._start_s = time.perf_counter()

    def update(self, samples: Sequence[Sample]) -> None:
        """Update the model with a batch."""
        with operation("backpropagation", "advantages"):
            advantages = torch.tensor(group_advantages(samples), device=self._settings.device)[:, None]
            tokens, before, is_own = self._as_tensors(samples)
        with operation("inference", "logprobs"), torch.no_grad():
            reference = self._reference.log_probabilities(tokens)
        with operation("backpropagation", "update_actor"):
            for _ in range(self._settings.epochs):
                values = self.model.log_probabilities(tokens)
                ratio = (values - before).exp()
                gain = torch.minimum(ratio * advantages, ratio.clamp(1 - CLIP, 1 + CLIP) * advantages)
                distance = reference - values
                objective = gain - KL_WEIGHT * (distance.exp() - distance - 1)
                self._optimizer.zero_grad()
                (-(objective * is_own).sum() / is_own.sum()).backward()
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), MOST_GRADIENT)
                self._optimizer.step()
        self.version += 1

    def _as_tensors(self, samples: Sequence[Sample]) -> tuple[Tensor, Tensor, Tensor]:
        """Return tokens; of all but the first, their log-probabilities when drawn, and whether they are the model's."""
        most, device = max(len(sample.tokens) for sample in samples), self._settings.device

        def padded(rows: Sequence[list[Any]], padding: Any) -> Tensor:
            return torch.tensor([row + [padding] * (most - len(row)) for row in rows], device=device)

        before = padded([sample.log_probabilities for sample in samples], 0.0)
        is_own = padded([sample.is_own for sample in samples], False)
        return padded([sample.tokens for sample in samples], END), before[:, 1:], is_own[:, 1:]

    def end_iteration(self, samples: Sequence[Sample]) -> None:
        """Report the iteration, in which these samples were completed, those that were discarded included."""
        done, batch = len(self.iterations) + 1, self._settings.samples
        rlscope.report_progress(timesteps=done * batch, total_timesteps=self._settings.iterations * batch)
        now = time.perf_counter()
        found = {"start_s": self._start_s, "end_s": now, "operations": dict(STOPWATCH)}
        mean = statistics.fmean(sample.reward for sample in samples)
        self.iterations.append({**found, "reward": mean, "samples": [sample.row() for sample in samples]})
        STOPWATCH.clear()
        self._start_s = now


def synchronous(settings: Settings) -> dict[str, Any]:
    """Generate, reward and update in turn."""
    trainer, engine, prompts = (
        Trainer(settings),
        make_engine(settings),
        Prompts(settings.seed, settings.prompts, settings.group),
    )
    trainer.start()
    with rlscope.operation("training_loop"):
        for _ in range(settings.iterations):
            batch = prompts.batch(trainer.version)
            engine.waiting.extend(batch)
            while not engine.is_idle:
                with operation("inference", "generate"):
                    over = engine.step()
                for sample in over:
                    judge(sample)
                    sample.report(is_discarded=False)
            trainer.update(batch)
            copy_weights(trainer.model, engine.model)
            trainer.end_iteration(batch)
    return {"iterations": trainer.iterations, "steps": engine.steps}


def copy_weights(source: LanguageModel, target: LanguageModel) -> None:
    """Give an engine in the same process the weights of the model that is trained."""
    with rlscope.operation("synchronisation"), rlscope.operation("sync_weights"):
        with operation("synchronisation", "gather"):
            flat = source.flat_weights()
        with operation("synchronisation", "load"):
            target.load(flat)


def overlapped(settings: Settings) -> dict[str, Any]:
    """Update while another process generates."""
    trainer = Trainer(settings)
    weights = trainer.model.flat_weights().cpu().share_memory_()
    context = multiprocessing.get_context("spawn")
    pipe, its_pipe = context.Pipe()
    rollout = context.Process(target=roll_out, args=(settings, its_pipe, weights), name="rollout", daemon=True)
    rollout.start()
    its_pipe.close()  # else it would not be noticed if the process ended
    pipe.recv()
    trainer.start()
    with rlscope.operation("training_loop"):
        for _ in range(settings.iterations):
            with rlscope.operation("wait_for_batch"):
                start = time.perf_counter()
                pipe.send(("batch", trainer.version))
                batch, discarded = pipe.recv()
                STOPWATCH["wait_for_batch"] += time.perf_counter() - start
            trainer.update(batch)
            send_weights(trainer, pipe, weights)
            trainer.end_iteration([*batch, *discarded])
    pipe.send(("end", trainer.version))
    steps = pipe.recv()
    rollout.join()
    return {"iterations": trainer.iterations, "steps": steps}


def send_weights(trainer: Trainer, pipe: Connection, weights: Tensor) -> None:
    """Give the process that generates the new weights, while it stops between two tokens."""
    with rlscope.operation("synchronisation"), rlscope.operation("sync_weights"):
        with operation("synchronisation", "gather"):
            flat = trainer.model.flat_weights()
        with operation("synchronisation", "pause"):
            pipe.send(("pause", trainer.version))
            pipe.recv()
        with operation("synchronisation", "transfer"):
            weights.copy_(flat)
        with operation("synchronisation", "load"):
            pipe.send("load")
            pipe.recv()
        with operation("synchronisation", "resume"):
            pipe.send("resume")


def roll_out(settings: Settings, pipe: Connection, weights: Tensor) -> None:
    """Generate one batch after the other; between two tokens, do what the trainer asks for."""
    engine, prompts = make_engine(settings), Prompts(settings.seed, settings.prompts, settings.group)
    version, wanted = 0, None
    batch: list[Sample] = []
    ready: deque[list[Sample]] = deque()
    discarded: list[Sample] = []
    pipe.send("ready")
    while True:
        if engine.is_idle:
            batch = prompts.batch(version)
            engine.waiting.extend(batch)
        with operation("inference", "generate"):
            over = engine.step()
        for sample in over:
            judge(sample)
        if engine.is_idle:
            ready.append(batch)
        if pipe.poll():
            asked, number = pipe.recv()
            if asked == "end":
                return pipe.send(engine.steps)
            if asked == "batch":
                wanted = number - settings.staleness
            else:
                version = number
                take_weights(engine, pipe, weights)
        while wanted is not None and ready:
            oldest = ready.popleft()
            is_stale = oldest[0].version < wanted
            for sample in oldest:
                sample.report(is_discarded=is_stale)
            if is_stale:
                discarded += oldest
            else:
                pipe.send((oldest, discarded))
                discarded, wanted = [], None


def take_weights(engine: Engine[Sample], pipe: Connection, weights: Tensor) -> None:
    """Stop generating until the new weights are there, and take them over."""
    with rlscope.operation("synchronisation"), rlscope.operation("sync_weights"):
        with rlscope.operation("pause"):
            pipe.send("paused")
            pipe.recv()
        with rlscope.operation("load"):
            engine.model.load(weights)
        with rlscope.operation("resume"):
            pipe.send("loaded")
            pipe.recv()


class Agents:
    """Samples as tasks, and the task that generates for all of them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.trainer, self.engine = Trainer(settings), make_engine(settings)
        self._prompts = Prompts(settings.seed, settings.prompts, settings.group)
        self._generator = random.Random(settings.seed)
        self._slots, self._has_work = asyncio.Semaphore(settings.slots), asyncio.Event()
        self._turns: dict[Sample, asyncio.Future[None]] = {}
        self._groups: set[asyncio.Task[list[Sample]]] = set()
        self._complete: list[list[Sample]] = []

    async def train(self) -> None:
        """Update the model whenever there are samples for it."""
        async with asyncio.TaskGroup() as tasks:
            server = tasks.create_task(self._serve())
            self.trainer.start()
            with rlscope.operation("training_loop"):
                for _ in range(self._settings.iterations):
                    with rlscope.operation("wait_for_batch"):
                        batch, completed = await self._next_batch(tasks)
                    self.trainer.update(batch)
                    copy_weights(self.trainer.model, self.engine.model)
                    self.trainer.end_iteration(completed)
            for task in (server, *self._groups):
                task.cancel()

    async def _next_batch(self, tasks: asyncio.TaskGroup) -> tuple[list[Sample], list[Sample]]:
        """Return the samples to train on, and all that were completed meanwhile."""
        prompts, completed = self._settings.prompts, list[Sample]()
        while len(self._complete) < prompts:
            while len(self._groups) + len(self._complete) < prompts * (1 + self._settings.staleness):
                self._groups.add(tasks.create_task(self._group()))
            done, self._groups = await asyncio.wait(self._groups, return_when=asyncio.FIRST_COMPLETED)
            for group in (task.result() for task in done):
                completed += group
                kept = [sample for sample in group if not sample.is_discarded]
                self._complete += [kept] if len(kept) > 1 else []  # one by itself has nothing to be compared with
        batch, self._complete = self._complete[:prompts], self._complete[prompts:]
        return [sample for group in batch for sample in group], completed

    async def _group(self) -> list[Sample]:
        group = self._prompts.group(self.trainer.version)
        await asyncio.gather(*map(self._answer, group))
        return group

    async def _answer(self, sample: Sample) -> None:
        """Complete a sample: a turn of the model, then one of the tool, and so on."""
        with rlscope.operation("sample"):
            while True:
                async with self._slots:
                    with rlscope.operation("inference"), rlscope.operation("generate"):
                        self._turns[sample] = asyncio.get_running_loop().create_future()
                        self.engine.waiting.append(sample)
                        self._has_work.set()
                        await self._turns[sample]
                if sample.tokens[-1] != ASK or len(sample.tokens) >= self._settings.longest - 1:
                    break  # else it has room for a letter of the tool and one more token
                with rlscope.operation("simulation"), rlscope.operation("tool_call"):
                    await asyncio.sleep(self._generator.lognormvariate(0, TOOL_SPREAD) * self._settings.tool_ms / 1000)
                    sample.append(ALPHABET.index(sample.word[min(sample.length, WORD_LENGTH - 1)]))
            judge(sample)
            sample.report(is_discarded=self.trainer.version - sample.version > self._settings.staleness)

    async def _serve(self) -> None:
        """Generate for all samples that are waiting for a token."""
        while True:
            if self.engine.is_idle:
                self._has_work.clear()
                await self._has_work.wait()
            with operation("inference", "generate"):
                over = self.engine.step()
            for sample in over:
                self._turns.pop(sample).set_result(None)
            await asyncio.sleep(0)


def agent(settings: Settings) -> dict[str, Any]:
    """Let samples call a tool while others are generated."""

    async def train() -> dict[str, Any]:
        agents = Agents(settings)
        await agents.train()
        return {"iterations": agents.trainer.iterations, "steps": agents.engine.steps}

    return asyncio.run(train())


MODES = {"synchronous": synchronous, "overlapped": overlapped, "agent": agent}


def parse() -> Settings:
    """Return the command line."""
    parser = grpo_settings.make_parser(__doc__)
    add = parser.add_argument
    add("--mode", choices=MODES, default="synchronous", help="default: synchronous")
    add("--slots", type=whole, default=64, help="samples that are generated at once (default: 64)")
    add("--staleness", type=lambda text: at_least(0, text), default=1, help="in updates (default: 1)")
    add("--tool-ms", type=whole, default=20, help="the median of the tool's milliseconds (default: 20)")
    arguments = parser.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        parser.error("expected a GPU for --device cuda, but PyTorch finds none here; give --device cpu")
    return Settings(**vars(arguments))


def main() -> None:
    """Train, and print what came of it."""
    settings = parse()
    print(json.dumps({"mode": settings.mode, **MODES[settings.mode](settings)}))


if __name__ == "__main__":
    main()
