"""Somebody changes the bytes of a trace file that is being written, as what syncs folders does: the program goes on."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from recording import RLSCOPE, environment

LOOP = """
import sys, threading, time
import rlscope
def work():
    for number in range(300):
        with rlscope.operation(f"step {number}"):
            for _ in range(200):
                with rlscope.operation("inner"): pass
end = time.monotonic() + 1.5
while time.monotonic() < end:
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads: thread.start()
    work()
    for thread in threads: thread.join()
print("done", flush=True)
sys.exit(7)
"""


@pytest.mark.parametrize("seed", range(3))
def test_an_older_copy_is_written_over_it(seed: int, tmp_path: Path) -> None:
    trace, chance = tmp_path / "trace", random.Random(seed)
    job = subprocess.Popen(
        [*RLSCOPE, "record", "-o", trace, "--", sys.executable, "-c", LOOP],
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    written = 0
    while job.poll() is None:
        for path in trace.glob("*.rlscope"):
            if not (older := path.read_bytes()):
                continue
            time.sleep(0.02)
            with path.open("r+b") as file:
                start = chance.choice([0, 0, chance.randrange(len(older))])
                file.seek(start)
                file.write(chance.choice([older[start:], bytes(len(older) - start), os.urandom(len(older) - start)]))
            written += 1
    assert written > 5
    stdout, stderr = job.communicate(timeout=60)
    assert (job.returncode, stdout) == (7, "done\n"), stderr
    assert "Traceback" not in stderr
