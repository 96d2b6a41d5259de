"""Give each process one thread for its operators.

Threads of a pool wait for each other busily. Where processes times threads are more than the cores, one takes the
core that another one needs.
"""

import os
import sys
from types import ModuleType

from rlscope.trial.change import Making

ALTERS = "the last bits of numbers, whose sums are taken in another order"
IS_OF_WALL = True
ENVIRONMENT = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "TF_NUM_INTRAOP_THREADS"), "1"
)
_KEEP = "OMP_NUM_THREADS=1 python train.py, or torch.set_num_threads(1)"


def prepare(making: Making) -> None:
    """Let PyTorch have one thread, whatever the program asks for."""

    def one_thread(torch: ModuleType) -> None:
        torch.set_num_threads(1)
        making.replace(torch, "set_num_threads", lambda original: lambda number: None)

    if making.is_on:
        making.after_import("torch", one_thread)


def look(making: Making) -> None:
    """Note how many threads there are now."""
    threads = threads_now()
    if (threads == 1) == making.is_on:
        making.met(f"{threads} threads", _KEEP)


def threads_now() -> int:
    """Return how many threads operators of this process have."""
    torch = sys.modules.get("torch")
    if torch is not None:
        return int(torch.get_num_threads())
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdigit() or "numpy" not in sys.modules:
        return int(asked or 1)
    return len(os.sched_getaffinity(0))
