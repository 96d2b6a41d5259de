"""Tune a language model with GRPO in a loop of its own: `transformers` generates, a judge in Python rewards.

    python grpo_loop.py --steps 5 --device cuda

The model is small and random and its prompts are made up, so that nothing is downloaded. The script knows nothing of
RL-Scope: its own stopwatch, of the whole run, is what a recording is compared with. It prints one line of JSON:
seconds of generation, of the reward and of the update, and how many network calls the generation made.
"""

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from transformers import PreTrainedModel, Qwen2Config, Qwen2ForCausalLM

VOCABULARY = 512
END_OF_TEXT = 0
PROMPT_TOKENS = 16


class Judge:
    """Rewards a completion by how near it is to the nearest of some worked answers."""

    def __init__(self, answers: int, tokens: int) -> None:
        generator = random.Random(1)
        self.answers = [[generator.randrange(VOCABULARY) for _ in range(tokens)] for _ in range(answers)]

    def score(self, completions: list[list[int]]) -> list[float]:
        """One reward for each completion, 1.0 for a worked answer itself."""
        return [max(self.likeness(completion, answer) for answer in self.answers) for completion in completions]

    def likeness(self, left: list[int], right: list[int]) -> float:
        """One less the edits that make the one text the other, as a share of the longer one."""
        above = list(range(len(right) + 1))
        for row, token in enumerate(left, start=1):
            current = [row]
            for column, other in enumerate(right, start=1):
                current.append(min(above[column] + 1, current[-1] + 1, above[column - 1] + (token != other)))
            above = current
        return 1 - above[-1] / max(len(left), len(right))


class Stopwatch:
    """Seconds by stage; waits for the device before it looks."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.seconds: Counter[str] = Counter()

    @contextmanager
    def watch(self, stage: str) -> Iterator[None]:
        """Counts the block's time to `stage`."""
        start = self.now()
        yield
        self.seconds[stage] += self.now() - start

    def now(self) -> float:
        """Seconds by this clock, once the device is idle."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()


def new_model(width: int, layers: int) -> PreTrainedModel:
    """A language model of the usual kind, with random weights."""
    config = Qwen2Config(
        vocab_size=VOCABULARY, hidden_size=width, intermediate_size=4 * width, num_hidden_layers=layers,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=1024,
        bos_token_id=END_OF_TEXT, eos_token_id=None, pad_token_id=END_OF_TEXT,
    )  # fmt: skip
    return Qwen2ForCausalLM(config)


def log_probabilities(model: PreTrainedModel, tokens: torch.Tensor) -> torch.Tensor:
    """Of each token of the completions, given those before it."""
    logits = model(input_ids=tokens).logits[:, PROMPT_TOKENS - 1 : -1]
    chosen = tokens[:, PROMPT_TOKENS:, None]
    return torch.log_softmax(logits, dim=-1).gather(-1, chosen).squeeze(-1)


def group_advantages(rewards: torch.Tensor, group: int) -> torch.Tensor:
    """How much better each completion is than the others of its prompt, in standard deviations of the group."""
    grouped = rewards.view(-1, group)
    centred = grouped - grouped.mean(dim=1, keepdim=True)
    return (centred / (grouped.std(dim=1, keepdim=True) + 1e-4)).view(-1, 1)


def update(
    model: PreTrainedModel, reference: PreTrainedModel, optimizer: torch.optim.Optimizer,
    tokens: torch.Tensor, advantages: torch.Tensor, epochs: int,
) -> None:  # fmt: skip
    """Some steps up the clipped objective, not far from the reference model."""
    with torch.no_grad():
        before = log_probabilities(model, tokens)
        reference_values = log_probabilities(reference, tokens)
    for _ in range(epochs):
        values = log_probabilities(model, tokens)
        ratio = (values - before).exp()
        gain = torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
        distance = reference_values - values
        loss = -(gain - 0.04 * (distance.exp() - distance - 1)).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def options() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--prompts", type=int, default=4, help="in a step")
    parser.add_argument("--group", type=int, default=4, help="completions of one prompt")
    parser.add_argument("--tokens", type=int, default=48, help="of a completion")
    parser.add_argument("--answers", type=int, default=16, help="that the judge compares a completion with")
    parser.add_argument("--epochs", type=int, default=2, help="of an update")
    parser.add_argument("--width", type=int, default=128, help="of the model")
    parser.add_argument("--layers", type=int, default=4, help="of the model")
    return parser.parse_args()


def main() -> None:
    """Tunes, then prints the seconds of each stage."""
    chosen = options()
    torch.manual_seed(1)
    device = torch.device(chosen.device)
    model, reference = (new_model(chosen.width, chosen.layers).to(device) for _ in range(2))
    reference.load_state_dict(model.state_dict())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    judge, stopwatch = Judge(chosen.answers, chosen.tokens), Stopwatch(device)
    for _ in range(chosen.steps):
        prompts = torch.randint(1, VOCABULARY, (chosen.prompts, PROMPT_TOKENS), device=device)
        prompts = prompts.repeat_interleave(chosen.group, dim=0)
        with stopwatch.watch("generation"):
            tokens = model.generate(
                input_ids=prompts, attention_mask=torch.ones_like(prompts), do_sample=True, max_new_tokens=chosen.tokens
            )
        completions = tokens[:, PROMPT_TOKENS:].tolist()
        with stopwatch.watch("reward"):
            rewards = judge.score(completions)
        advantages = group_advantages(torch.tensor(rewards, device=device), chosen.group)
        with stopwatch.watch("update"):
            update(model, reference, optimizer, tokens, advantages, chosen.epochs)
    seconds = {stage: round(value, 4) for stage, value in stopwatch.seconds.items()}
    print(json.dumps(seconds | {"generation_calls": chosen.steps * chosen.tokens}))


if __name__ == "__main__":
    main()
