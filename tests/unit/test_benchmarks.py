"""The benchmark's own parts: its list, results and tables, statistics, the guard's comparison, the lock files."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.analyzing.chrome_trace import write_chrome_trace
from benchmarks.guard import KEPT, Guarded, compare
from benchmarks.recording.line_tracer import line_tracer
from benchmarks.result import Result, Target, Value, as_table, number, print_results, results
from benchmarks.run import BENCHMARKS, main, parse
from benchmarks.timing import median
from rlscope.plots.tables import markdown

ROOT = Path(__file__).resolve().parents[2]
GUARDED = Guarded(
    compiler="gcc 12.2.0", sweep_1_thread=100.0, sweep_4_threads=200.0, sweep_device=120.0, idle_device=400.0,
    detail_1_thread=130.0, record=50.0, between=16.0, bytes=4.5,
)  # fmt: skip


def lock(name: str) -> dict[str, str]:
    lines = (ROOT / "requirements" / name).read_text().splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


@pytest.mark.parametrize(("other", "package"), [("torch.lock.txt", "torch"), ("page.lock.txt", "playwright")])
def test_what_is_in_both_locks_has_one_version(other: str, package: str) -> None:
    bench, found = lock("bench.lock.txt"), lock(other)
    shared = bench.keys() & found.keys()
    assert package in shared
    assert {name: bench[name] for name in shared} == {name: found[name] for name in shared}


def test_the_list_states_minutes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [*(benchmark.name for benchmark in BENCHMARKS), "all"]
    assert all(re.search(r"\d min\b", line) for line in lines)


def test_every_benchmark_is_a_file() -> None:
    modules = [benchmark.command[0].split(".") for benchmark in BENCHMARKS]
    assert all((ROOT / "benchmarks").joinpath(*module).with_suffix(".py").is_file() for module in modules)


def test_only_takes_commas_and_repetition() -> None:
    assert parse(["--only", "crossing,operation", "--only", "startup"]).only == ["crossing", "operation", "startup"]


def test_an_unknown_benchmark_is_an_error_that_lists_the_known(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(["--only", "crosing"])
    assert ended.value.code == 2
    assert "crosing was found" in capsys.readouterr().err


def test_a_line_tracer_counts_each_line() -> None:
    def looping() -> int:
        x = 0
        for step in range(3):
            x += step
        return x

    with line_tracer() as lines:
        looping()
    first = looping.__code__.co_firstlineno
    seen = {line - first: count for (code, line), count in lines.items() if code is looping.__code__}
    assert seen == {1: 1, 2: 4, 3: 3, 4: 1}
    looping()
    assert {line - first: count for (code, line), count in lines.items() if code is looping.__code__} == seen


def test_a_result_has_a_line_per_peer() -> None:
    peers = {"cProfile": Value(80.0, 79.0, 81.0), "idle": Value(0.0)}
    first, second = results("crossing", "ns", Value(20.0, 19.0, 21.0), peers, Target(20))
    assert (first.peer, first.peer_value, first.ratio) == ("cProfile", 80.0, 0.25)
    assert second.ratio is None
    assert first.reached is True


@pytest.mark.parametrize(
    ("target", "reached"), [(Target(19), False), (Target(19, is_ceiling=False), True), (None, None)]
)
def test_a_target_is_a_ceiling_or_a_floor(target: Target | None, reached: bool | None) -> None:
    (result,) = results("metric", "ns", Value(20.0), target=target)
    assert result.reached is reached


def test_results_are_lines_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = results(
        "analysis", "M events/s", Value(70.0, 69.0, 71.0), {"peer": Value(0.05)}, Target(40, is_ceiling=False)
    )
    print_results(found)
    (line,) = capsys.readouterr().out.splitlines()
    assert Result(**json.loads(line)) == found[0]
    assert {"metric", "value", "unit", "peer", "peer_value", "ratio"} <= json.loads(line).keys()


def test_the_table_names_a_metric_once() -> None:
    found = results("a", "ns", Value(20.0, 19.0, 21.0), {"p": Value(40.0), "q": Value(80.0)}, Target(10))
    found += results("b", "x", Value(1.0151, 1.0101, 1.0199))
    table = as_table([vars(result) for result in found])
    assert list(table["metric"]) == ["a", "", "b"]
    assert list(table["rlscope"]) == ["20.0 [19.0, 21.0]", "", "1.015 [1.010, 1.020]"]
    assert list(table["reached"]) == ["no", "", ""]
    assert markdown(table).splitlines()[2].startswith("| a | 20.0 [19.0, 21.0] | ns | 10.0 | no | p | 40.0 | 0.500 |")


def test_a_table_of_nothing_has_its_columns() -> None:
    """As where the only benchmark that was asked for could not run."""
    assert {"metric", "note"} <= set(as_table([]).columns)


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (0, "0"), (0.0123456, "0.0123"), (9.96, "9.96"), (123.4, "123"), (12345.6, "12,346")],
)
def test_numbers_have_three_digits(value: float | None, text: str) -> None:
    assert number(value) == text


def test_the_interval_encloses_the_median() -> None:
    found = median([1.0, 2.0, 3.0, 4.0, 50.0])
    assert found.value == 3.0
    assert found.low is not None
    assert found.high is not None
    assert found.low <= 3.0 <= found.high


def test_one_sample_has_no_interval() -> None:
    assert median([7.0]) == Value(7.0)


def test_the_peers_trace_holds_what_is_counted(tmp_path: Path) -> None:
    events = write_chrome_trace(tmp_path / "chrome", 500)
    document = json.loads((tmp_path / "chrome" / "rank_0.json").read_text())
    assert len(document["traceEvents"]) == events == 492
    launches = [event for event in document["traceEvents"] if event["cat"] == "cuda_runtime"]
    kernels = [event for event in document["traceEvents"] if event["cat"] == "kernel"]
    assert [event["args"]["correlation"] for event in launches] == [event["args"]["correlation"] for event in kernels]


def test_the_guard_accepts_what_is_kept() -> None:
    text, is_fine = compare(GUARDED, GUARDED)
    assert is_fine
    assert "DIFFERS" not in text


@pytest.mark.parametrize(
    ("change", "is_fine"),
    [
        ({"record": 51.4}, True),
        ({"record": 52.0}, False),
        ({"record": 48.0}, False),
        ({"bytes": 4.51}, False),
        ({"record": 60.0, "compiler": "clang 14.0.6"}, True),
        ({"record": 70.0, "compiler": "clang 14.0.6"}, False),
        ({"bytes": 4.51, "compiler": "clang 14.0.6"}, False),
    ],
    ids=str,
)
def test_the_guard_allows_compilers_their_differences(change: dict[str, object], is_fine: bool) -> None:
    assert compare(replace(GUARDED, **change), GUARDED)[1] is is_fine  # type: ignore[arg-type]


def test_the_kept_values_can_be_read() -> None:
    assert Guarded(**json.loads(KEPT.read_text())).bytes > 0
