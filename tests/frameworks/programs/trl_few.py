"""A few steps of GRPO or RLOO by TRL, on a small model and a tokenizer that are made here; prints its own stopwatches.

TRL is as it is installed. The stopwatches are around what a trainer calls of the model, of itself and of Accelerate.
"""

import hashlib
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from datasets import Dataset
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, TrainerCallback
from trl import GRPOConfig, GRPOTrainer, RLOOConfig, RLOOTrainer

WORDS = ["<pad>", "<eos>", "<unk>", *map(str, range(10)), "+", "="]
STEPS = 3
seconds: Counter[str] = Counter()
running: list[str] = []
connections: list[object] = []


def make_tokenizer() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>", padding_side="left"
    )


def make_model(folder: str) -> LlamaForCausalLM:
    """The reference model is read from where the model comes from, so it is saved first."""
    config = LlamaConfig(
        vocab_size=len(WORDS), hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=128, pad_token_id=0, eos_token_id=1, bos_token_id=1,
    )  # fmt: skip
    torch.manual_seed(0)
    LlamaForCausalLM(config).save_pretrained(folder)
    return LlamaForCausalLM.from_pretrained(folder)


def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Time a function; inside of another one that is timed, it is that one's."""

    def timing(*args: Any, **kwargs: Any) -> Any:
        began = time.perf_counter()
        running.append(name)
        try:
            return function(*args, **kwargs)
        finally:
            running.pop()
            if not running:
                seconds[name] += time.perf_counter() - began

    return timing


def reward_for_digits(completions: list[str], **_: Any) -> list[float]:
    """Takes as long as a verifier may, and rewards digits."""
    began = time.perf_counter()
    while time.perf_counter() - began < 0.05:
        pass
    return [float(sum(word.isdigit() for word in completion.split())) for completion in completions]


class Watch(TrainerCallback):  # type: ignore[misc]
    """Times the optimizer, which the trainer makes itself."""

    def on_train_begin(self, *_: Any, optimizer: Any, **__: Any) -> None:
        optimizer.step = timed("backpropagation", optimizer.step)


def note_connection(event: str, args: tuple[Any, ...]) -> None:
    """Note every attempt to reach another machine."""
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        connections.append([event, str(args)])


def main() -> None:
    sys.addaudithook(note_connection)
    algorithm, device = sys.argv[1], (*sys.argv[2:], "cpu")[0]
    trainer_class, config_class = {"grpo": (GRPOTrainer, GRPOConfig), "rloo": (RLOOTrainer, RLOOConfig)}[algorithm]
    with tempfile.TemporaryDirectory() as folder:
        model = make_model(folder)
        model.generate = timed("inference", model.generate)
        config = config_class(
            output_dir=folder, use_cpu=device == "cpu", bf16=False, report_to="none", max_steps=STEPS,
            num_generations=4,
            per_device_train_batch_size=16, max_completion_length=64, beta=0.1, save_strategy="no", seed=1,
            logging_steps=1, disable_tqdm=True, eval_strategy="steps", eval_steps=2, per_device_eval_batch_size=4,
        )  # fmt: skip
        prompts = Dataset.from_dict({"prompt": [f"{left} + {left + 1} =" for left in range(9)] * 2})
        trainer = trainer_class(
            model=model, reward_funcs=reward_for_digits, args=config, train_dataset=prompts,
            eval_dataset=prompts.select(range(1)),
            processing_class=make_tokenizer(), callbacks=[Watch()],
        )  # fmt: skip
        # Log-probabilities are those of the reference model, and of the policy before the update.
        parts = {"_get_per_token_logps_and_entropies": "inference", "_calculate_rewards": "simulation"}
        for name, stage in parts.items():
            setattr(trainer, name, timed(stage, getattr(trainer, name)))
        trainer.compute_loss = timed("backpropagation", trainer.compute_loss)
        for name in ("backward", "clip_grad_norm_"):
            setattr(trainer.accelerator, name, timed("backpropagation", getattr(trainer.accelerator, name)))
        trainer.train()
    weights = b"".join(value.detach().cpu().numpy().tobytes() for value in model.parameters())
    digest = hashlib.sha256(weights).hexdigest()
    history = [entry.get("reward") for entry in trainer.state.log_history if "reward" in entry]
    print(json.dumps({"seconds": seconds, "digest": digest, "rewards": history, "connections": connections}))


if __name__ == "__main__":
    main()
