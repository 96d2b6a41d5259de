"""Write and read files less often, or beside the loop.

**Why it is slow.** A write that waits for the disk takes 1 to 100 ms, on a network's file system longer.

**Slow**

    file.write(line); file.flush(); os.fsync(file.fileno())     # in each step

**Faster**

    file.write(line)                               # Python writes when 8 KB are there

**How it is found.** Waits for the disk have an eighth of the training or more, or functions that write and read
files.

**When it is wrong.** What must not be lost when the machine fails has to be written.

**Reported:** wandb/wandb #950, where `fsync` had two thirds of the training.
"""

from collections.abc import Iterator

from rlscope.analysis.account.causes import Cause
from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found

#: They write files, or read them, with much work of Python's own.
_FILES = ("numpy/lib/_npyio_impl.py ", "numpy/lib/npyio.py ", "zipfile.py ", "shutil.py ", "csv.py ")
#: Of what reads whole files another rule says more.
_WHOLE = ("numpy/lib/_npyio_impl.py load", "numpy/lib/_npyio_impl.py NpzFile.")


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for waits for the disk."""
    yield from evidence.cause(Cause.DISK, "write and read files less often, or beside the loop")
    yield from evidence.calls(_FILES, "write and read files less often, or beside the loop", but=_WHOLE)
