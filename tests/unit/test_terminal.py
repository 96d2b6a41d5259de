"""What `rlscope analyze` writes to a terminal: golden texts, and lines that fit whatever names a trace has."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from trace_builder import parse_script, write_script

from benchmarks.trace_writer import TraceWriter
from rlscope.analysis.rows import Record
from rlscope.cli.analyze import analyze as analyze_verb
from rlscope.cli.main import FIRST_STEPS, verbs
from rlscope.model import Category
from rlscope.report.bars import Part, bar_lines
from rlscope.report.screen import Screen
from rlscope.report.tables import table_lines

GOLDEN = Path(__file__).parent.parent / "golden"
S = 1_000_000_000
NAMES = st.text(min_size=1, max_size=120)


def shown(*arguments: object) -> str:
    return CliRunner().invoke(analyze_verb, [str(word) for word in arguments], catch_exceptions=False).output


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two processes, of which one waits for the other; operations in stages, one of a long name, and a small one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    writer = TraceWriter(Path("trace"))
    process = writer.process(pid=1, name="main")
    thread = process.thread()
    thread.begin_operation(10 * S, "inference")
    thread.begin_operation(10 * S, "choose_the_action_of_each_of_many_agents_in_an_environment")
    thread.boundary(11 * S, 30 * S, Category.BACKEND, "torch.linear")
    thread.end(30 * S)
    thread.operation(30 * S, 30 * S + S // 10, "pad")
    thread.operation(30 * S + S // 10, 30 * S + S // 5, "save")
    thread.end(31 * S)
    thread.begin_operation(31 * S, "simulation")
    thread.boundary(32 * S, 50 * S, Category.WAIT, "posix.read pipe:[1]")
    thread.end(50 * S)
    process.stop(50 * S)
    worker = writer.process(pid=2, parent_pid=1, start_ticks=S, name="worker")
    thread = worker.thread()
    thread.begin_operation(32 * S, "simulation")
    thread.boundary(33 * S, 49 * S, Category.SIMULATOR, "mujoco.step")
    thread.end(49 * S)
    thread.boundary(49 * S, 50 * S, Category.WAIT, "posix.write pipe:[1]")
    worker.stop(50 * S)
    return writer.write_complete()


def golden(name: str) -> str:
    return (GOLDEN / "terminal" / f"{name}.txt").read_text(encoding="utf-8")


def test_it_looks_like_this(trace: Path) -> None:
    assert shown(trace, "--correct", "none") == golden("analyze")


def test_it_looks_like_this_where_there_are_no_blocks(trace: Path) -> None:
    arguments = [sys.executable, "-m", "rlscope", "analyze", str(trace), "--all", "--correct", "none"]
    environment = {"PYTHONIOENCODING": "ascii", "COLUMNS": "80", "PATH": ""}
    finished = subprocess.run(arguments, env=environment, capture_output=True, check=True)
    assert finished.stdout.decode("ascii") == golden("analyze_ascii")


def test_it_looks_like_this_summed_and_in_full(trace: Path) -> None:
    by = shown(trace, "--by", "process,operation,category", "--correct", "none")
    assert by == golden("analyze_by")
    assert shown(trace, "--all", "--correct", "none") == golden("analyze_all")


@pytest.mark.parametrize("width", [40, 60, 100, 160])
def test_no_line_is_wider_than_the_terminal(width: int, trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for words in ((trace,), (trace, "--all"), (trace, trace), (trace, "--by", "process,stage,operation,category")):
        assert max(map(cell_len, shown(*words).splitlines())) <= width


def test_a_pipe_is_80_wide_and_without_colour(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = shown(trace)
    monkeypatch.delenv("COLUMNS")
    assert shown(trace) == usual and "\x1b" not in usual


def is_cut_of(cell: str, name: str) -> bool:
    """Whether a cell is the name, or its beginning and its end."""
    head, ellipsis, tail = cell.partition("…")
    return cell == name or (bool(ellipsis) and name.startswith(head) and name.endswith(tail)) or "…" in name


@given(st.lists(st.tuples(NAMES, NAMES, st.floats(0, 1e6)), min_size=1, max_size=5), st.integers(60, 160))
def test_names_in_tables_stay_in_their_line(rows: list[tuple[str, str, float]], width: int) -> None:
    screen = Screen(width)
    records: list[Record] = [{"process": one, "function": two, "wait_s": seconds} for one, two, seconds in rows]
    lines = table_lines("Waits", records, screen)
    assert max(map(cell_len, lines)) <= width
    assert len(lines) == 2 + len(rows)


@given(st.lists(st.tuples(NAMES, st.integers(0, 4), st.floats(0, 1)), min_size=1, max_size=5), st.integers(60, 160))
def test_names_in_trees_stay_in_their_line(rows: list[tuple[str, int, float]], width: int) -> None:
    screen = Screen(width)
    lines = bar_lines([Part(depth, name, 100 * share, share) for name, depth, share in rows], screen)
    assert max(map(cell_len, lines)) <= width
    assert len(lines) == len(rows)


@given(NAMES, st.integers(0, 60))
def test_a_name_that_is_cut_keeps_its_beginning_and_its_end(name: str, width: int) -> None:
    screen = Screen()
    text = screen.shown(name)
    cut = screen.cut(text, width)
    assert cell_len(cut) <= width
    assert width < 1 or is_cut_of(cut, text)


@given(st.lists(NAMES, min_size=1, max_size=20), st.integers(40, 100), st.sampled_from(["utf-8", "ascii", "latin-1"]))
def test_sentences_are_broken_between_words(words: list[str], width: int, encoding: str) -> None:
    screen = Screen(width, encoding)
    lines = screen.filled(" ".join(words), "- ", "  ")
    assert max(map(cell_len, lines)) <= width
    assert all(line.encode(encoding) and line.isprintable() for line in lines)


@given(st.lists(st.text(min_size=1, max_size=60), min_size=2, max_size=20), st.integers(40, 100))
def test_paths_are_shown_whole(parts: list[str], width: int) -> None:
    screen = Screen(width)
    path = screen.shown("/".join(parts).replace(" ", "_"))
    lines = screen.filled(f"{path} ends", following="  ")
    assert max(map(cell_len, lines)) <= width
    assert "".join(line.strip() for line in lines).replace(" ", "") == f"{path}ends"


def test_a_path_breaks_between_its_parts() -> None:
    path = "/home/someone/experiments/walker/runs/of_november/third_try/trace"
    assert Screen(40).filled(f"{path}: 5 s of one process", following="  ") == [
        "/home/someone/experiments/walker/runs/",
        "  of_november/third_try/trace: 5 s of",
        "  one process",
    ]


@pytest.mark.parametrize(
    ("share", "encoding", "bar"),
    [
        (0.0, "utf-8", ""),
        (0.5, "utf-8", "█████"),
        (0.06, "utf-8", "▋"),
        (1.0, "utf-8", "█" * 10),
        (0.5, "ascii", "#####"),
        (1.2, "ascii", "#" * 10),
    ],
)
def test_bars(share: float, encoding: str, bar: str) -> None:
    assert Screen(80, encoding).bar(share, 10) == bar


def test_a_table_that_is_too_wide_for_the_terminal_is_a_line_for_each_cell() -> None:
    rows: list[Record] = [{f"column{number}": 1000.5 + number for number in range(8)}]
    assert table_lines("Wide", rows, Screen(40))[:3] == ["Wide", "  column0  1,001", "  column1  1,002"]


def test_two_names_that_are_too_long_give_way_alike() -> None:
    """Of two columns of 40 characters neither is cut to its least while the other one stays whole."""
    rows: list[Record] = [{"function": "f" * 40, "line": "l" * 40, "seconds": 1.5}]
    row = table_lines("Lines", rows, Screen(60))[-1]
    assert abs(row.count("f") - row.count("l")) <= 1


def test_the_command_alone_says_what_to_type_next() -> None:
    found = CliRunner().invoke(verbs, [], prog_name="rlscope")
    assert (found.exit_code, found.output) == (0, FIRST_STEPS + "\n")
    assert 3 <= len(FIRST_STEPS.splitlines()) <= 5
    assert set(re.findall(r"rlscope (\w+)", FIRST_STEPS)) <= set(verbs.list_commands(None))  # type: ignore[arg-type]


def test_every_golden_trace_is_shown(tmp_path: Path) -> None:
    for file in sorted(GOLDEN.glob("*.trace.txt")):
        directory = tmp_path / file.name.partition(".")[0]
        write_script(parse_script(file.read_text()), directory)
        output = shown(directory, "--recover")
        assert max(map(cell_len, output.splitlines())) <= 80, file
