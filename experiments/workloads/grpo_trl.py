"""Tune the same language model on the same task as grpo.py with TRL's GRPOTrainer; nothing here knows of RL-Scope.

    python grpo_trl.py --iterations 5

The model has random weights, and the tokenizer is made of the task's alphabet, so that nothing is downloaded. Prints
one line of JSON: the mean reward of each iteration.
"""

import json
import os
import tempfile

# Nothing is looked up on a hub; both are read when the libraries are imported.
os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}

import random

import torch
from copying import ALPHABET, END, PROMPT_LENGTH, make_word, prompt_of, reward
from datasets import Dataset
from grpo_settings import Settings, make_parser
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer

PADDING = "_"


def make_tokenizer() -> PreTrainedTokenizerFast:
    """Return a tokenizer that makes a token of each character."""
    tokenizer = Tokenizer(models.WordLevel({letter: place for place, letter in enumerate([*ALPHABET, PADDING])}, "?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(""), "isolated")
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=ALPHABET[END], pad_token=PADDING)


def make_model(settings: Settings) -> GPT2LMHeadModel:
    """Return a model of the same size as that of grpo.py."""
    config = GPT2Config(
        vocab_size=len(ALPHABET) + 1,
        n_positions=PROMPT_LENGTH + settings.tokens,
        n_embd=settings.width,
        n_layer=settings.layers,
        n_head=max(1, settings.width // max(16, settings.width // 16)),
        bos_token_id=END,
        eos_token_id=END,
        pad_token_id=len(ALPHABET),
    )
    with torch.device(settings.device):
        return GPT2LMHeadModel(config)


def rewards(completions: list[str], word: list[str], **_: object) -> list[float | None]:
    """Return what the verifier says of each completion."""
    return [reward(each, text.split(".")[0]) for text, each in zip(completions, word, strict=True)]


def main() -> None:
    """Train, and print what came of it."""
    settings = Settings(**vars(make_parser(__doc__).parse_args()))
    torch.manual_seed(settings.seed)
    generator = random.Random(settings.seed)
    words = [make_word(generator) for _ in range(settings.prompts * settings.iterations)]
    with tempfile.TemporaryDirectory() as folder:
        configuration = GRPOConfig(
            output_dir=folder,
            per_device_train_batch_size=settings.samples,
            num_generations=settings.group,
            num_iterations=settings.epochs,
            max_completion_length=settings.tokens,
            max_steps=settings.iterations * settings.epochs,
            learning_rate=settings.learning_rate,
            seed=settings.seed,
            logging_steps=1,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            use_cpu=settings.device == "cpu",
            bf16=False,
        )
        trainer = GRPOTrainer(
            model=make_model(settings),
            reward_funcs=rewards,
            args=configuration,
            train_dataset=Dataset.from_list([{"prompt": prompt_of(word), "word": word} for word in words]),
            processing_class=make_tokenizer(),
        )
        trainer.train()
    found = [row["reward"] for row in trainer.state.log_history if "reward" in row]
    print(json.dumps({"mode": "trl", "rewards": found}))


if __name__ == "__main__":
    main()
