"""Read files once, before the loop.

**Why it is slow.** A file is opened, read, unpacked and made into objects each time, though it has not changed. What
`np.load` gives of an `.npz` file reads and unpacks an array at each access.

**Slow**

    def reset(self):
        self.levels = json.load(open("levels.json"))
        self.opponent = PPO.load("opponent.zip")

**Faster**

    def __init__(self):
        self.levels = json.load(open("levels.json"))
        self.data = dict(np.load("data.npz"))      # all arrays, in memory

**How it is found.** Stacks pass functions that read whole files in an eighth of the training or more. They are of
NumPy, PyTorch, pandas, Pillow, h5py, json and Stable-Baselines3, or lines with `pickle.load`, `read_text` and the like.

**When it is wrong.** Data that is larger than memory has to be read as it is needed, by workers of a DataLoader.
"""

from collections.abc import Iterator

from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found
from rlscope.rules.source import reads_file

_READING = (
    "numpy/lib/_npyio_impl.py load", "numpy/lib/_npyio_impl.py NpzFile.__getitem__",
    "torch/serialization.py load", "pandas/io/", "PIL/Image.py open", "h5py/", "json/__init__.py load",
    "stable_baselines3/common/base_class.py BaseAlgorithm.load", "imageio/",
)  # fmt: skip
_STRINGS = "json/__init__.py loads"


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for files that are read in the training."""
    yield from evidence.calls(_READING, "read files once, before the loop", reads_file, but=(_STRINGS,), is_whole=True)
