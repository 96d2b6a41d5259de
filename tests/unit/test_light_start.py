"""What verbs import: libraries that take long to load are for figures, and for samples of devices and counters."""

import subprocess
import sys
from pathlib import Path

import pytest
from trace_builder import parse_script, write_script

from rlscope.trace.utilization_file import HEADER, UTILIZATION_NAME

HEAVY = ("numpy", "pandas", "pyarrow", "matplotlib", "seaborn", "scipy")
PROGRAM = f"""
import sys
from rlscope.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as ended:
    assert not ended.code, ended.code
print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)
"""
GOLDEN = Path(__file__).parent.parent / "golden"


def loaded_by(*words: object) -> str:
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, words)], capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stderr.splitlines()[-1]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    write_script(parse_script((GOLDEN / "stages.trace.txt").read_text()), tmp_path / "trace")
    (tmp_path / "trace" / UTILIZATION_NAME).write_text(f"{HEADER}\n1,processes,1.0,1\n")
    return tmp_path / "trace"


@pytest.mark.parametrize(
    "words",
    [
        ("analyze",),
        ("analyze", "--json"),
        ("analyze", "--by", "stage"),
        ("analyze", "--by", "function"),
        ("inspect",),
        ("inspect", "--json"),
    ],
    ids=" ".join,
)
def test_a_verb_that_writes_text_loads_no_library_for_figures(words: tuple[str, ...], trace: Path) -> None:
    assert loaded_by(*words, trace) == "[]"


def test_csv_is_written_without_pandas(trace: Path, tmp_path: Path) -> None:
    assert loaded_by("analyze", "--csv", tmp_path / "breakdown.csv", trace) == "[]"
    written = (tmp_path / "breakdown.csv").read_text()
    assert written.startswith("process,phase,stage,operation,category,resource,ready_in,outer_stage,seconds")


def test_a_page_is_made_without_libraries_for_figures(trace: Path, tmp_path: Path) -> None:
    assert loaded_by("report", "-o", tmp_path / "page.html", trace) == "['numpy']"


def test_parquet_needs_it(trace: Path, tmp_path: Path) -> None:
    """So that the list above is known to be of what would be seen."""
    assert "pandas" in loaded_by("analyze", "--parquet", tmp_path / "breakdown.parquet", trace)


def test_a_recorded_command_starts_before_what_reads_traces_is_loaded(tmp_path: Path) -> None:
    """What reading needs is there before the command's end is waited for."""
    program = """
import os, signal, sys
from rlscope.cli.main import main
def saying(call):
    def said(*arguments):
        print("rlscope.analysis.sweep" in sys.modules, "rlscope.trace.format" in sys.modules, file=sys.stderr)
        return call(*arguments)
    return said
os.fork = saying(os.fork)
signal.sigtimedwait = saying(signal.sigtimedwait)
main(["record", "-o", sys.argv[1], "--", "true"])
"""
    words = [sys.executable, "-c", program, str(tmp_path / "trace")]
    finished = subprocess.run(words, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    assert finished.stderr.splitlines()[:2] == ["False False", "True True"]


@pytest.mark.parametrize(
    "words",
    [("--help",), ("analyze", "--help"), ("record", "--help"), ("compare", "--help"), ("bench", "--help")],
    ids=" ".join,
)
def test_help_loads_nothing(words: tuple[str, ...]) -> None:
    assert loaded_by(*words) == "[]"
