"""Updates a wide model of grpo.py twice: how often an answer ends with its first token, before and after."""

import json
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[3] / "experiments" / "workloads"))

import grpo
from copying import END
from samples import Prompts

SIZES = {"layers": 4, "width": 1024, "prompts": 2, "group": 4, "tokens": 16, "epochs": 2, "iterations": 2, "seed": 0}
ENGINE = {"mode": "synchronous", "slots": 8, "staleness": 0, "tool_ms": 1}


def main() -> None:
    settings = grpo.Settings(device="cpu", learning_rate=float(sys.argv[1]), **SIZES, **ENGINE)
    trainer, engine, prompts = grpo.Trainer(settings), grpo.make_engine(settings), Prompts(0, 2, 4)
    asked = torch.tensor([sample.tokens for sample in prompts.batch(0)[::4]])

    def endings() -> list[float]:
        with torch.no_grad():
            return trainer.model(asked)[:, -1].softmax(dim=-1)[:, END].tolist()

    found = [endings()]
    for version in range(2):
        batch = prompts.batch(version)
        engine.waiting.extend(batch)
        while not engine.is_idle:
            for sample in engine.step():
                sample.judge()
        trainer.update(batch)
        found.append(endings())
    print(json.dumps(found))


if __name__ == "__main__":
    main()
