"""Train on the CPU.

A small network takes longer to be launched than to be computed.
"""

import os
import sys

from rlscope.trial.change import Making

ALTERS = "the last bits of numbers, and random numbers that the device draws"
IS_OF_WALL = True
ENVIRONMENT = {"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}
_KEEP = 'CUDA_VISIBLE_DEVICES="" python train.py, or device="cpu"'


def prepare(making: Making) -> None:
    """Do nothing: variables say it."""


def look(making: Making) -> None:
    """Note whether devices are used, or can no longer be."""
    torch, jax = sys.modules.get("torch"), sys.modules.get("jax")
    if making.is_on:
        is_met = os.environ.get("CUDA_VISIBLE_DEVICES") == "" and not (torch and torch.cuda.is_available())
    else:
        is_met = bool(torch and torch.cuda.is_initialized()) or bool(jax and jax.default_backend() != "cpu")
    if is_met:
        making.met("device", _KEEP)
