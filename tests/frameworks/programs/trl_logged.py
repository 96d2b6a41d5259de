"""A few steps of GRPO by TRL with the callback that logs shares, also for TensorBoard; prints windows and the log."""

import json
import sys
import tempfile
from pathlib import Path

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer
from trl_few import make_model, make_tokenizer, reward_for_digits

from rlscope.callbacks.transformers import TrainingShares

sys.path.append(str(Path(__file__).parents[2] / "scripts"))
from noted_windows import note_windows, windows

note_windows()
prompts = Dataset.from_dict({"prompt": [f"{left} + {left + 1} =" for left in range(9)] * 2})
with tempfile.TemporaryDirectory() as folder:
    config = GRPOConfig(
        output_dir=folder, use_cpu=True, bf16=False, report_to="tensorboard", max_steps=3,
        num_generations=4, per_device_train_batch_size=8, max_completion_length=16, save_strategy="no", seed=1,
        logging_steps=1, disable_tqdm=True,
    )  # fmt: skip
    trainer = GRPOTrainer(
        model=make_model(folder), reward_funcs=reward_for_digits, args=config, train_dataset=prompts,
        processing_class=make_tokenizer(),
    )  # fmt: skip
    trainer.add_callback(TrainingShares(trainer))
    trainer.train()
print(json.dumps({"windows": windows, "logged": trainer.state.log_history}))
