"""Save less often, or less.

**Why it is slow.** A network is small, but a replay buffer has gigabytes, which are packed and written each time.

**Slow**

    CheckpointCallback(save_freq=1_000, save_path="models", save_replay_buffer=True)

**Faster**

    CheckpointCallback(save_freq=100_000, save_path="models")

**How it is found.** Checkpoints have an eighth of the time or more: `torch.save`, what libraries save, `numpy.save`,
and lines of the program that call `pickle.dump`.

**When it is wrong.** On machines that may be taken away at any time, what is lost without them counts as well.

**Reported:** DLR-RM/stable-baselines3 #1016, hill-a/stable-baselines #376.
"""

from collections.abc import Iterator

from rlscope.analysis.account.causes import Cause
from rlscope.rules.evidence import Evidence, where
from rlscope.rules.finding import Found
from rlscope.rules.source import called

#: They write what a program keeps to a file.
_SAVING = ("numpy/lib/_npyio_impl.py save", "numpy/lib/_npyio_impl.py _savez")
_ON_LINES = frozenset({"pickle.dump", "joblib.dump", "cloudpickle.dump", "dill.dump"})


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for checkpoints, also those that the program packs and writes itself."""
    packing = evidence.stacks.passing(lambda name: name.startswith(_SAVING), is_on_line=called(_ON_LINES))
    packed_s, saved_s = packing.seconds if packing is not None else 0.0, evidence.seconds(Cause.CHECKPOINT)
    if packed_s or saved_s:
        place = packing.place if packing is not None and packed_s > saved_s else evidence.made_for(Cause.CHECKPOINT)
        share = evidence.share(packed_s + saved_s)
        change = f"save less often, or less, as a replay buffer is large; {share} of the training{where(place)}"
        yield Found(
            change, f"account: cause={Cause.CHECKPOINT.value}; functions", packed_s + saved_s, place,
            forecast="" if packed_s else "checkpoint=1/10",
        )  # fmt: skip
