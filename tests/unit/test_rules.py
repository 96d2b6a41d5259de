"""Rules: what each finds in a trace, what it says of itself, and how users choose among them."""

import importlib
import json
import re
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from pieces import Piece, traced
from random_scripts import scripts
from trace_builder import ProcessScript, analyzed, parse_script, write_scripts

from rlscope.analysis.analysis import Analysis, analyze
from rlscope.cli.main import verbs
from rlscope.errors import UsageError
from rlscope.model import Category
from rlscope.rules.choice import Choice, choice
from rlscope.rules.evidence import LEAST_SHARE
from rlscope.rules.rule import Rule, rules
from rlscope.trace.manifest import read_manifest, write_manifest
from rlscope.trace.reader import open_trace

#: A page has these parts, each once, in this order; the last one where somebody has reported it.
PARTS = ("Why it is", "Slow", "Faster|Better", "How it is found", "When it is wrong")
#: A loop of 100 ns, of which 90 pass FRAMES; WORK is what the thread does there.
LOOP = """process stop=110
thread 0
0 + inference
1 -
{work}
100 + backpropagation
110 -
stacks 9
{seen}
105 sees 0 <module>:/me/a.py:1 main:/me/a.py:4
"""
#: A file of a package.
PACKAGE = "/lib/python3.11/site-packages"


def codes(analysis: Analysis) -> list[str]:
    return [row.code for row in analysis.findings]


def looped(directory: Path, frames: str, work: str = "") -> Analysis:
    """Analyze a loop whose line 3 of main leads to these frames."""
    seen = "\n".join(f"{time} sees 0 <module>:/me/a.py:1 main:/me/a.py:3 {frames}" for time in range(5, 100, 10))
    return analyzed(directory, LOOP.format(work=work, seen=seen))


@pytest.mark.parametrize(
    ("frames", "code"),
    [
        ("deepcopy:/lib/python3.11/copy.py:1 _copy_dict:/lib/python3.11/copy.py:2", "RLS202"),
        (f"append:{PACKAGE}/numpy/lib/_function_base_impl.py:1", "RLS203"),
        ("Buffer.draw:/me/b.py:7 Random.sample:/lib/python3.11/random.py:1", "RLS204"),
        (f"_LocIndexer.__getitem__:{PACKAGE}/pandas/core/indexing.py:1", "RLS209"),
        ("dumps:/lib/python3.11/json/__init__.py:1", "RLS210"),
        ("Bdb.trace_dispatch:/lib/python3.11/bdb.py:1", "RLS104"),
        ("BaseProxy._callmethod:/lib/python3.11/multiprocessing/managers.py:1", "RLS406"),
        (f"Adam.step:{PACKAGE}/torch/optim/adam.py:1 _single_tensor_adam:{PACKAGE}/torch/optim/adam.py:2", "RLS505"),
        (f"Distribution.__init__:{PACKAGE}/torch/distributions/distribution.py:1", "RLS507"),
        (f"apply_primitive:{PACKAGE}/jax/_src/dispatch.py:1", "RLS702"),
    ],
)
def test_a_function_that_is_known_to_be_slow_is_found_with_the_line_that_calls_it(
    frames: str, code: str, tmp_path: Path
) -> None:
    analysis = looped(tmp_path, frames)
    found = [row for row in analysis.findings if row.code == code]
    assert [(row.file.startswith("/me/"), row.line) for row in found] == [(True, 7 if "/me/b.py" in frames else 3)]
    assert found[0].seconds == pytest.approx(99e-9, abs=2e-9)
    assert "RLS201" not in codes(analysis)  # which says less


@pytest.mark.parametrize(("function", "is_found"), [("<module>", False), ("concat", True)])
def test_what_imports_run_is_no_training_where_no_loop_is_known(function: str, is_found: bool, tmp_path: Path) -> None:
    frames = f"<module>:/me/a.py:1 {function}:{PACKAGE}/pandas/core/api.py:1 _Indexer.get:{PACKAGE}/pandas/core/b.py:2"
    seen = "\n".join(f"{time} sees 0 {frames}" for time in range(5, 90, 10))
    text = f"process stop=110\nthread 0\n96 + backend:torch.linear\n109 -\nstacks 9\n{seen}\n"
    analysis = analyzed(tmp_path, f"{text}99 sees 0 <module>:/me/a.py:2\n")
    assert ("RLS209" in codes(analysis)) == is_found


def test_native_functions_are_known_by_their_whole_names(tmp_path: Path) -> None:
    for name, code in (("torch.tensor", ["RLS206"]), ("torch.tensordot", [])):
        analysis = looped(tmp_path / name, "", f"2 + backend:{name}\n98 -")
        assert [each for each in codes(analysis) if each == "RLS206"] == code


def test_elements_that_are_taken_out_of_tensors_are_many_calls(tmp_path: Path) -> None:
    calls = "\n".join(f"{time} + backend:torch._C.TensorBase.item\n{time + 9} -" for time in range(1, 95, 10))
    assert "RLS207" in codes(looped(tmp_path / "many", "", calls))
    once = "2 + backend:torch.linear\n98 -"
    assert "RLS207" not in codes(looped(tmp_path / "none", "", once))


@pytest.mark.parametrize(("step", "is_found"), [("reset", True), ("step", False)])
def test_resets_are_dear_where_steps_are_not_dearer(step: str, is_found: bool, tmp_path: Path) -> None:
    frames = f"Vector.step:{PACKAGE}/gymnasium/vector/vector.py:1 Maze.{step}:/me/maze.py:7"
    analysis = looped(tmp_path, frames, "1 + simulation\n100 -")
    assert ("RLS306" in codes(analysis)) == is_found


@pytest.mark.parametrize(
    ("begins", "is_found"), [((1,), False), ((1, 51), True)], ids=["the one that any training begins with", "two"]
)
def test_a_reset_that_the_loop_asks_for_once_is_not_dear(
    begins: tuple[int, ...], is_found: bool, tmp_path: Path
) -> None:
    ends = (*(each - 1 for each in begins[1:]), 98)
    calls = (f"{one} + simulation\n{one} + reset\n{end} -\n{end} -" for one, end in zip(begins, ends, strict=True))
    work = "\n".join([*calls, "98 ran 97"])
    analysis = looped(tmp_path, "Maze.reset:/me/maze.py:7", work)
    assert ("RLS306" in codes(analysis)) == is_found


@pytest.mark.parametrize(
    ("frame", "cores", "is_found"),
    [
        ("gymnasium/vector/sync_vector_env.py SyncVectorEnv.step", 4, True),
        ("gymnasium/vector/sync_vector_env.py SyncVectorEnv.step", 1, False),
        ("gymnasium/vector/async_vector_env.py AsyncVectorEnv.step_wait", 4, False),
    ],
)
def test_heavy_environments_in_one_process_are_found_where_cores_are_idle(
    frame: str, cores: int, is_found: bool, tmp_path: Path
) -> None:
    file, function = frame.split()
    seen = "\n".join(
        f"{time}000000 sees 0 <module>:/me/a.py:1 main:/me/a.py:3 {function}:{PACKAGE}/{file}:1"
        for time in range(5, 100, 10)
    )
    text = f"process stop=110000000\nthread 0\n1 + simulation\n100000000 ran 99000000\n100000000 -\nstacks 9\n{seen}\n"
    trace = write_scripts([parse_script(text)], tmp_path)
    write_manifest(trace, read_manifest(trace) | {"machine": {"cores": cores}, "end": {"busy_cores": 1.0}})
    found = [row for row in analyze(open_trace(trace)).findings if row.code == "RLS402"]
    assert [(row.line, row.share) for row in found] == [(3, pytest.approx(1 - 1 / cores, rel=0.1))] * is_found


def test_a_quota_that_stops_the_run_is_found(tmp_path: Path) -> None:
    work = [Piece(5, "simulation", Category.NO_CORE), Piece(5, "inference")]
    trace = traced(tmp_path, {"main": work})
    machine = {"cores": 8, "quota_cores": 0.5}
    times = {"start": {"throttled_ns": 0}, "end": {"throttled_ns": 4 * 10**9, "busy_cores": 0.5, "ready_threads": 1.0}}
    write_manifest(trace, read_manifest(trace) | {"machine": machine} | times)
    found = [row for row in analyze(open_trace(trace)).findings if row.code == "RLS103"]
    assert [row.seconds for row in found] == [4.0]


@given(st.lists(scripts(), min_size=1, max_size=3))
@settings(max_examples=100, deadline=None)
def test_what_is_found_is_a_part_of_the_training(processes: list[ProcessScript]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        analysis = analyze(open_trace(write_scripts(processes, Path(directory))))
    for row in analysis.findings:
        assert row.code in {rule.code for rule in rules()} and row.change
        if row.seconds is not None:
            assert row.share is not None and LEAST_SHARE <= row.share <= 1
        if row.forecast:
            assert row.forecast_low <= row.forecast_factor <= row.forecast_high
    orders = {rule.code: rule.order for rule in rules()}
    order = [(orders[row.code], -(row.seconds or 0.0)) for row in analysis.findings]
    assert order == sorted(order)


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.code)
def test_a_rule_has_a_page(rule: Rule) -> None:
    heads = re.findall(r"^\*\*(.+?)[.:]?\*\*", rule.page, flags=re.M)
    assert all(re.match(part, head) for part, head in zip(PARTS, heads, strict=False)), heads
    assert heads[len(PARTS) :] in ([], ["Reported"])
    assert rule.title == rule.page.partition("\n")[0].removesuffix(".") and len(rule.title) <= 100


def test_codes_and_names_are_of_one_rule_each() -> None:
    assert len({rule.code for rule in rules()}) == len({rule.name for rule in rules()}) == len(rules()) >= 30


def functions_of_libraries() -> list[tuple[str, str]]:
    """The functions of packages and of the standard library that rules look for, whole names alone."""
    found = set()
    for file in (Path(__file__).resolve().parents[2] / "rlscope" / "rules").glob("RLS*.py"):
        found |= set(re.findall(r'"([\w/]+\.py) ([\w.]*\w)"', file.read_text()))
    return sorted(found)


@pytest.mark.parametrize(("file", "function"), functions_of_libraries())
def test_the_functions_that_rules_look_for_are_those_of_the_libraries(file: str, function: str) -> None:
    module = file.removesuffix(".py").replace("/", ".")
    try:
        found: object = importlib.import_module(module)
    except ModuleNotFoundError:
        pytest.skip(f"{module} is not installed, or is older")
    for part in function.split("."):
        found = getattr(found, part)
    assert callable(found)


@pytest.mark.parametrize(
    ("select", "ignore", "shown"),
    [
        (None, None, ["RLS303", "RLS304"]),
        ("RLS303", None, ["RLS303"]),
        ("RLS3", "RLS303", ["RLS304"]),
        (None, "RLS3", []),
        ("", "", ["RLS303", "RLS304"]),
    ],
)
def test_a_choice_is_by_the_beginning_of_codes(
    select: str | None, ignore: str | None, shown: list[str], tmp_path: Path
) -> None:
    work = [Piece(5, "checkpoint"), Piece(3, "log"), Piece(2, "inference")]
    analysis = analyze(open_trace(traced(tmp_path, {"main": [Piece(1, "simulation"), *work]})))
    assert codes(choice(select, ignore, tmp_path).of(analysis)) == shown


def test_the_nearest_pyproject_that_has_a_part_for_rlscope_counts(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.rlscope]\nignore = ["RLS2"]\nselect = ["RLS3", "RLS2"]\n')
    (below := tmp_path / "below").mkdir()
    (below / "pyproject.toml").write_text("[tool.ruff]\nline-length = 120\n")
    assert choice(None, None, below) == Choice(("RLS3", "RLS2"), ("RLS2",))
    assert choice("RLS4", None, below) == Choice(("RLS4",), ("RLS2",))


@pytest.mark.parametrize(
    "text",
    [
        '[tool.rlscope]\nignore = "RLS2"',
        '[tool.rlscope]\nignore = ["RLS0"]',
        "[tool.rlscope]\nskip = []",
        "[tool",
        "\xff",
    ],
)
def test_settings_that_are_wrong_are_said_with_their_file(text: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(text, encoding="latin-1")
    with pytest.raises(UsageError, match=re.escape(str(tmp_path / "pyproject.toml"))):
        choice(None, None, tmp_path)


def slow_trace(directory: Path) -> Path:
    work = [Piece(1, "simulation"), Piece(8, "log"), Piece(2, "inference")]
    return traced(directory, {"main": work})


def run(*arguments: str) -> tuple[int, str]:
    finished = CliRunner().invoke(verbs, arguments)
    return finished.exit_code, finished.stdout


@pytest.mark.parametrize(
    ("arguments", "status"),
    [((), 1), (("--fail-on", "RLS3"), 1), (("--fail-on", "RLS2,RLS4"), 0), (("--ignore", "RLS304"), 0)],
)
def test_check_fails_on_what_rules_find(arguments: tuple[str, ...], status: int, tmp_path: Path) -> None:
    assert run("check", str(slow_trace(tmp_path)), *arguments)[0] == status


def test_check_says_findings_as_lines_documents_and_annotations(tmp_path: Path) -> None:
    analysis = looped(tmp_path / "trace", "deepcopy:/lib/python3.11/copy.py:1")
    assert codes(analysis) == ["RLS202"]
    trace = str(tmp_path / "trace")
    assert run("check", trace)[1].startswith("/me/a.py:3: RLS202 ")
    assert json.loads(run("check", trace, "--json")[1]) == {"schema": 1, "runs": {"trace": analysis.findings.records()}}
    annotation = run("check", trace, "--github")[1]
    assert annotation.startswith("::warning file=/me/a.py,line=3,title=RLS202 deepcopy::RLS202 ")
    assert "72 %" not in annotation and "%25" in annotation


def test_explain_shows_the_page_of_a_rule_or_lists_all() -> None:
    status, text = run("explain")
    assert (status, len(text.splitlines())) == (0, len(rules()))
    rule = rules()[0]
    assert rule.page in run("explain", rule.code.lower())[1]
    assert isinstance(CliRunner().invoke(verbs, ["explain", "RLS000"]).exception, UsageError)


@pytest.mark.parametrize(
    ("library", "ran_ms", "threads", "is_found"),
    [("torch", 40, 2, True), ("torch", 96, 2, False), ("jaxlib", 40, 2, False), ("torch", 40, 1, False)],
)
def test_who_waits_for_the_threads_of_its_operators_gives_them_one(
    library: str, ran_ms: int, threads: int, is_found: bool, tmp_path: Path
) -> None:
    text = f"""process stop=101000000 operator_threads={threads}
thread 0
1 + backpropagation
2 + backend:{library}.mm
99000000 -
100000000 ran {ran_ms * 10**6}
100000000 -
stacks 9
50000000 sees 0 <module>:/me/a.py:1 main:/me/a.py:3
"""
    analysis = analyzed(tmp_path, text)
    found = [row for row in analysis.findings if row.code == "RLS105"]
    assert [(row.line, row.seconds) for row in found] == [(3, pytest.approx(0.099, rel=0.01))] * is_found
    waited_s = sum(row.seconds for row in analysis.account if row.cause == "operator_threads")
    assert waited_s == pytest.approx((100 - ran_ms) / 1000 if is_found else 0, rel=0.01)
    assert sum(row.seconds for row in analysis.account) == pytest.approx(0.101)
    file = tmp_path / "a.py"
    for function, line in (("actor", 3), ("main", 6)):  # who begins other processes passes no line of theirs
        file.write_text(f"import torch\n\n\n\ndef {function}():\n    torch.set_num_threads(4)\n")
        found = analyzed(tmp_path / function, text.replace("/me/a.py", str(file))).findings
        assert [row.line for row in found if row.code == "RLS105"] == [line] * is_found
