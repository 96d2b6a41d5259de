"""The loop of grpo_loop.py, as it is, with a phase around each generation, which shows where its time was counted."""

import runpy
from pathlib import Path

from transformers import GenerationMixin

import rlscope

GenerationMixin.generate = rlscope.phase("generation")(GenerationMixin.generate)
runpy.run_path(str(Path(__file__).with_name("grpo_loop.py")), run_name="__main__")
