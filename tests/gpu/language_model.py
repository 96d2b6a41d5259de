"""What recording TRL's GRPO costs on a GPU, and how large its trace is, as JSON: one line per metric.

    python -m tests.gpu.language_model OUTPUT      # in the checkout; the package is the installed one; needs trl

The model is small, so that the GPU waits for launches: that is where recording costs most.
"""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer

import rlscope
from benchmarks.result import Result, Value, print_results, results
from tests.frameworks.programs.trl_few import make_model, make_tokenizer
from tests.gpu.measure import Looper, in_turns, own_arms, pin, slower_than_plain

CYCLES = 24
ROUNDS = 3
PROFILER_CYCLES = 2  # its cost is so large that fewer show it
WARM_UP_STEPS = 3
TRACED_STEPS = 20
MOST_STEPS = 1_000_000


def digits(completions: list[str], **_: Any) -> list[float]:
    """Return how many digits each completion has."""
    return [float(sum(word.isdigit() for word in completion.split())) for completion in completions]


def train(steps: int, callback: TrainerCallback | None = None) -> None:
    """Train for some steps on the GPU."""
    with tempfile.TemporaryDirectory() as folder:
        configuration = GRPOConfig(
            output_dir=folder, report_to="none", bf16=False, max_steps=steps, num_generations=4, logging_steps=1000,
            per_device_train_batch_size=16, max_completion_length=32, save_strategy="no", seed=1, disable_tqdm=True,
        )  # fmt: skip
        prompts = Dataset.from_dict({"prompt": [f"{left % 9} + {left % 7} =" for left in range(64)]})
        trainer = GRPOTrainer(
            model=make_model(folder), reward_funcs=digits, args=configuration, train_dataset=prompts,
            processing_class=make_tokenizer(), callbacks=[callback] if callback else None,
        )  # fmt: skip
        trainer.train()


class Told(TrainerCallback):  # type: ignore[misc]
    """Does each step when it is told to on stdin, and says in how many milliseconds; starts and stops a tool."""

    def __init__(self, directory: Path, tool: str) -> None:
        self._tools = {**own_arms(directory), "nothing": nullcontext, "torch.profiler": torch.profiler.profile}
        self._tool = tool
        self._recording = ExitStack()
        self._answers, sys.stdout = sys.stdout, sys.stderr  # libraries print too

    def on_step_begin(self, _: Any, state: Any, control: Any, **__: Any) -> None:
        if state.global_step >= WARM_UP_STEPS:
            word = sys.stdin.readline().strip()
            if word == "start":
                self._recording.enter_context(self._tools[self._tool]())
            elif word != "block":
                self._recording.close()
            control.should_training_stop = not word
        torch.cuda.synchronize()
        self._began_ns = time.perf_counter_ns()

    def on_step_end(self, _: Any, state: Any, control: Any, **__: Any) -> None:
        torch.cuda.synchronize()
        if state.global_step > WARM_UP_STEPS and not control.should_training_stop:
            print((time.perf_counter_ns() - self._began_ns) / 1e6, file=self._answers, flush=True)


def slowdown(directory: Path) -> Iterator[Result]:
    """How much slower a step is while it is recorded, against a process that is never recorded, in turns."""
    peers = ("bare CUPTI", "torch.profiler")
    pin()
    loopers = {name: Looper(directory, name, "tests.gpu.language_model") for name in ("nothing", "rlscope", *peers)}
    during, after = in_turns(loopers, CYCLES, ROUNDS, PROFILER_CYCLES)
    note = f"{CYCLES} times {ROUNDS} steps with it and without, in turns"
    yield from slower_than_plain("TRL's GRPO", "GRPO", peers, during, after, note)


def trace_size(directory: Path) -> Iterator[Result]:
    """Bytes of a trace of a training with every layer, beside what torch.profiler writes of as many steps."""
    with rlscope.profile(output=directory / "size"):
        train(TRACED_STEPS)
    megabytes = sum(path.stat().st_size for path in (directory / "size").glob("*.rlscope")) / 1e6
    with torch.profiler.profile() as profiler:
        train(TRACED_STEPS)
    path = directory / "torch.json"
    profiler.export_chrome_trace(str(path))
    peers = {"torch.profiler, Chrome JSON": Value(path.stat().st_size / 1e6)}
    yield from results("trace of TRL's GRPO", "MB", Value(megabytes), peers, None, f"{TRACED_STEPS} steps")


def main() -> None:
    """Measure both; what one found is printed before the next begins."""
    directory = Path(sys.argv[1]).resolve()
    directory.mkdir(parents=True, exist_ok=True)
    match sys.argv[2:]:
        case ["loop", tool]:
            train(MOST_STEPS, Told(Path(tempfile.mkdtemp(dir=directory)), tool))
        case _:
            for measurement in (trace_size, slowdown):
                print_results(measurement(directory))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
