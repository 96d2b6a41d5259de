"""What a recorded program waited for, by kind, held against what the kernel says of the same thread in the same run."""

import json
from pathlib import Path

from recording import record

from rlscope.analysis.analysis import analyze
from rlscope.analysis.rows import sums
from rlscope.record.blocking import DISK, LOCK, NETWORK, PIPE, PROCESS, TIMER
from rlscope.trace.reader import open_trace

#: By phases of tests/scripts/known_waits.py: all of these calls is waiting.
WAITS = {
    "disk": DISK,
    "disk mapped": DISK,
    "timer": TIMER,
    "lock": LOCK,
    "pipe": PIPE,
    "network": NETWORK,
    "process": PROCESS,
}
#: Of these calls what they were blocked for is. Gaps shorter than a millisecond may be missed.
MAY_WAIT = {"disk base": DISK, "disk write": DISK, "unknown": ""}
LONG_NS = 4e6
#: As a share of the time.
ERROR = 0.05


def test_each_kind_has_the_time_that_the_kernel_says(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "known_waits.py", tmp_path)
    assert recording.returncode == 0, recording.stderr
    told = json.loads(recording.stdout)
    assert told.keys() == WAITS.keys() | MAY_WAIT.keys()
    analysis = analyze(open_trace(recording.trace))
    main = next(row.process for row in analysis.processes if row.role == "main")
    found_s = sums(((row.phase, row.kind), row.wait_s) for row in analysis.waits if row.process == main)
    for phase, kind in (WAITS | MAY_WAIT).items():
        wall, ran, ready = (told[phase][name] for name in ("wall", "ran", "ready"))
        blocked = wall - ran - ready
        share = found_s.get((phase, kind), 0.0) * 1e9 / wall
        most = (blocked if phase in MAY_WAIT else blocked + ran) / wall
        assert share < most + ERROR, (phase, share, told[phase])
        if phase in WAITS or blocked / told[phase]["calls"] > LONG_NS:
            assert share > blocked / wall - ERROR, (phase, share, told[phase])
        others_s = sum(seconds for (where, what), seconds in found_s.items() if where == phase and what != kind)
        assert others_s * 1e9 / wall < ERROR, (phase, found_s)
