"""Threads that are short and many: those that follow one another share pages of the trace."""

import sys
from pathlib import Path

from recording import record

from rlscope.trace.reader import open_trace

#: As many as have pages of their own would have 4 MB.
THREADS = 1000
MOST_BYTES = 300
SHORT = """
import sys, threading
import rlscope

def short():
    with rlscope.operation("short"):
        pass

for _ in range(int(sys.argv[1])):
    thread = threading.Thread(target=short)
    thread.start()
    thread.join()
"""


def test_bytes_of_each(tmp_path: Path) -> None:
    script = tmp_path / "short.py"
    script.write_text(SHORT)
    sizes = []
    for threads in (1, THREADS + 1):
        recording = record(tmp_path / f"trace{threads}", sys.executable, script, threads)
        (file,) = open_trace(recording.trace).processes
        (swept,) = recording.sweeps()
        assert swept["complete"] and swept["events"]["operation"] == threads
        sizes.append(file.file_bytes)
    assert THREADS * 10 < sizes[1] - sizes[0] <= THREADS * MOST_BYTES
