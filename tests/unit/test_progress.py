"""The progress bar: on a terminal only, only for long work, and without loading rich before that."""

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.trace_writer import TraceWriter

PROGRAM = """
import sys, time
from rlscope.cli import progress
progress.PATIENCE_S = 0.2
with progress.progress_bar("counting", 4) as advance:
    advance()
    print("rich.progress" in sys.modules)
    if "long" in sys.argv:
        while "rich.progress" not in sys.modules:
            time.sleep(0.01)
        for _ in range(2):
            time.sleep(0.5)
            advance()
"""


READING = """
import sys, time
from pathlib import Path
from rlscope._analysis import sweep
from rlscope.cli import progress
from rlscope.trace.reader import open_trace
progress.PATIENCE_S = 0
trace = open_trace(Path(sys.argv[1]))
with progress.reading_bar("reading", [trace] * 4):
    for _ in range(3):
        sweep(trace.processes[0].path)
    time.sleep(1)
"""


def on_a_terminal(program: str, *words: str) -> tuple[str, str]:
    """What a program prints, and what it shows on a terminal as its stderr."""
    master, slave = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", program, *words], stdout=subprocess.PIPE, stderr=slave, text=True)
    os.close(slave)
    shown = b""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and select.select([master], [], [], 60)[0]:
        try:
            part = os.read(master, 65536)
        except OSError:  # as Linux says that nobody holds the other end any more
            break
        shown += part
    os.close(master)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return printed, shown.decode()


def test_short_work_shows_and_loads_nothing() -> None:
    assert on_a_terminal(PROGRAM) == ("False\n", "")


def test_long_work_shows_how_much_is_done_and_left() -> None:
    printed, shown = on_a_terminal(PROGRAM, "long")
    assert printed == "False\n"
    assert "counting" in shown and "75%" in shown and "left" in shown


def test_nothing_is_shown_where_there_is_no_terminal() -> None:
    finished = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert (finished.stdout, finished.stderr) == ("False\n", "")


def test_what_was_read_of_traces_shows(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path / "trace")
    process = writer.process(pid=1)
    thread = process.thread()
    for tick in range(10_000):
        thread.operation(tick, tick, "step")
    process.stop(10_000)
    trace = writer.write_complete()
    printed, shown = on_a_terminal(READING, str(trace))
    assert printed == ""
    percents = [int(number) for number in re.findall(r"(\d+)%", shown)]
    assert 50 < max(percents) <= 75  # three of four; header and catalog are not counted
