"""How many files of the package a verb goes through: each is one more that a reader of it has to open."""

import subprocess
import sys
from pathlib import Path

import pytest
from adversary_runs import MANIFEST, MS

from benchmarks.trace_writer import TraceWriter
from rlscope.model import Category

#: Prints the files of rlscope of which functions were called, bodies of modules and classes left out.
PROFILED = """
import inspect, os, sys
import rlscope
from rlscope.cli.start import main
root, files = os.path.dirname(rlscope.__file__), set()
def note(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_flags & inspect.CO_OPTIMIZED and code.co_filename.startswith(root):
        files.add(os.path.relpath(code.co_filename, root))
sys.setprofile(note)
try:
    main()
finally:
    sys.setprofile(None)
    print(*sorted(files), sep="\\n", file=sys.stderr)
"""


@pytest.mark.parametrize(("verb", "most"), [("analyze", 45)])
def test_a_verb_goes_through_few_files(verb: str, most: int, tmp_path: Path) -> None:
    process = (writer := TraceWriter(tmp_path / "trace")).process(pid=41)
    thread = process.thread()
    thread.begin_operation(0, "inference")
    thread.begin_boundary(2 * MS, Category.BACKEND, "torch.linear")
    for end in (5, 6):
        thread.end(end * MS)
    process.stop(10 * MS)
    trace = writer.write(MANIFEST)
    finished = subprocess.run(
        [sys.executable, "-c", PROFILED, verb, str(trace)], capture_output=True, text=True, check=True
    )
    # Rules are files of one form, which are read one at a time.
    files = [file for file in finished.stderr.splitlines() if not file.startswith("rules/")]
    assert "analysis/run_tables.py" in files
    assert len(files) <= most, files
