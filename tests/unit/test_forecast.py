"""Forecasts: what changes mean, what each model makes of exact rows, and how wide an interval is."""

import json
import math
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from recording import call_here
from rules import forecasting
from trace_builder import analyzed, parse_script, write_scripts

from rlscope.analysis.correction.costs import Bounds
from rlscope.analysis.lines.functions import FunctionRow
from rlscope.analysis.table_rows import BreakdownRow, CpuTimeRow
from rlscope.analysis.tables.loop_times import LoopTimeRow, cpu_shares
from rlscope.analysis.tables.purposes import PurposeRow
from rlscope.errors import UsageError
from rlscope.forecast.change import Change, Model, change_of
from rlscope.forecast.errors import ERRORS
from rlscope.forecast.forecast import forecast_of, interval_of
from rlscope.forecast.models import (
    Workers,
    collecting_by_stage,
    part_of,
    saved_by_batch,
    saved_by_batch_of_two,
    saved_by_less,
    saved_in_processes,
    workers_of,
)
from rlscope.forecast.schema import forecast_schema

#: A second of training in which 0.3 s of inference and 0.1 s of nothing known are done for a batch.
LOOP = (
    LoopTimeRow("main", "training", "simulation", 0.2),
    LoopTimeRow("main", "training", "inference", 0.3),
    LoopTimeRow("main", "training", "backpropagation", 0.25),
    LoopTimeRow("main", "training", "(none)", 0.1),
    LoopTimeRow("main", "evaluation", "inference", 0.1),
    LoopTimeRow("main", "evaluation", "simulation", 0.05),
)


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("simulation=2x", Change("simulation=2x", Model.FASTER, "simulation", 2.0)),
        ("copy.py deepcopy=gone", Change("copy.py deepcopy=gone", Model.FASTER, "copy.py deepcopy", math.inf)),
        ("evaluation=1/10", Change("evaluation=1/10", Model.RARER, "evaluation", 10.0)),
        ("environments=16", Change("environments=16", Model.BATCH, "", 16)),
        ("environments=8:16", Change("environments=8:16", Model.BATCH, "", 16, 8)),
        ("processes=1", Change("processes=1", Model.ONE_PROCESS, "", 1)),
        ("processes=4", Change("processes=4", Model.PROCESSES, "", 4)),
        ("launches=graph", Change("launches=graph", Model.GRAPH)),
    ],
)
def test_a_change_is_read(text: str, change: Change) -> None:
    assert change_of(text) == change


@pytest.mark.parametrize(
    "text",
    ["", "simulation", "=gone", "simulation=2", "simulation=0x", "evaluation=1/0", "environments=0", "environments=2x",
     "environments=0:4", "processes=-1", "processes=gone"],
)  # fmt: skip
def test_what_means_no_change_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--change"):
        change_of(text)


def function(name: str, stage: str, stacks: int, cpu_s: float, purpose: str = "training") -> FunctionRow:
    return FunctionRow("main", stage, purpose, name, "train.py", 1, True, stacks, 0, 2 * cpu_s, 0.0, cpu_s)


def test_a_part_is_a_purpose_a_stage_an_operation_or_a_function() -> None:
    operations = [CpuTimeRow("main", "(none)", "inference", "step", 9, 0.5, 0.125)]
    functions = [
        function("main", "inference", 40, 0.3), function("main", "(none)", 10, 0.1),
        function("main", "(none)", 70, 5.0, "starting_up"),
        function("observe", "inference", 20, 0.15), function("observe", "(none)", 5, 0.05),
        function("observe", "(none)", 7, 0.5, "starting_up"),
    ]  # fmt: skip
    found = {
        name: part_of(name, LOOP, operations, functions)
        for name in ("evaluation", "simulation", "step", "observe", "train.py observe", "reset")
    }
    seconds = {name: round(part.seconds, 12) for name, part in found.items() if part is not None}
    assert seconds == {
        "evaluation": 0.15, "simulation": 0.25, "step": 0.125, "observe": 0.2, "train.py observe": 0.2
    }  # fmt: skip
    assert found["evaluation"] is not None and found["evaluation"].sampling_error == 0
    assert found["observe"] is not None and found["observe"][1:3] == (25, 50)
    assert found["observe"].sampling_error == pytest.approx(math.sqrt(2 / 25.5))
    assert found["reset"] is None


def test_seconds_become_processor_time_by_the_clocks_of_threads_and_without_recording() -> None:
    def purpose(stage: str, category: str, seconds: float) -> PurposeRow:
        return PurposeRow("main", "(none)", "loop", "training", stage, category, "cpu", seconds)

    purposes = [
        purpose("simulation", "python", 2.0),
        purpose("simulation", "no_core", 3.0),
        purpose("x", "python", 1.0),
    ]
    ran = [CpuTimeRow("main", "(none)", "simulation", "simulation", 4, 5.0, 1.5)]
    row = BreakdownRow("main", "(none)", "simulation", "simulation", "python", "cpu", "", "", 2.0, 1.8, 1.8, 1.8)
    shares = cpu_shares(purposes, [row], ran)
    assert shares == {
        ("main", "(none)", "simulation"): pytest.approx(0.75 * 0.9), ("main", "(none)", "x"): 1.0
    }  # fmt: skip


def test_what_is_left_of_a_part_takes_its_share() -> None:
    assert saved_by_less(3.0, 2) == 1.5
    assert saved_by_less(3.0, 10) == pytest.approx(2.7)
    assert saved_by_less(3.0, math.inf) == 3.0
    assert saved_by_less(3.0, 0.5) == -3.0


def test_a_larger_batch_saves_what_is_done_for_each_batch() -> None:
    assert saved_by_batch(LOOP, 1, 4) == pytest.approx(0.4 * 3 / 4)
    assert saved_by_batch(LOOP, 4, 1) == pytest.approx(-0.4 * 3)


def test_two_batches_tell_what_a_batch_and_what_a_timestep_takes() -> None:
    """Of a batch of n, inference takes 8 + 2 n, and simulation 3 n: 4 and 3 for a timestep of 4, 3 and 3 of 8."""
    first, second = {"inference": 4.0, "simulation": 3.0}, {"inference": 3.0, "simulation": 3.0}
    assert saved_by_batch_of_two(first, 4, second, 8, 16) == pytest.approx(4.0 - 2.5)
    assert saved_by_batch_of_two(second, 8, first, 4, 16) == pytest.approx(3.0 - 2.5)
    assert saved_by_batch_of_two(first, 4, second, 8, 8) == pytest.approx(1.0)
    assert saved_by_batch_of_two({"inference": 1.0}, 4, {"inference": 2.0}, 8, 16) == 0
    assert saved_by_batch_of_two({"inference": 4.0}, 4, {"inference": 1.0}, 8, 16) == pytest.approx(3.0)
    assert collecting_by_stage(LOOP) == {"simulation": 0.2, "inference": 0.3, "(none)": 0.1}


def test_messages_are_the_asking_and_the_answering() -> None:
    rows = [
        LoopTimeRow("main", "training", "simulation", 0.75), LoopTimeRow("main", "training", "inference", 2.0),
        *(LoopTimeRow(f"worker-{i}", "training", "simulation", 0.5) for i in (1, 2)),
        *(LoopTimeRow(f"worker-{i}", "training", "(none)", 0.125) for i in (1, 2)),
        LoopTimeRow("logger", "training", "(none)", 9.0), LoopTimeRow("other", "training", "simulation", 9.0),
    ]  # fmt: skip
    workers = workers_of(rows, "main", ["worker-1", "worker-2", "logger"])
    assert workers == Workers(2, 1.0)
    assert workers_of(rows, "main", ["logger"]) is None
    assert workers_of(rows[1:], "main", ["worker-1"]) is None


def test_messages_have_the_price_of_the_nearest_number_of_processes() -> None:
    prices = {1: Bounds(9e3, 10e3, 11e3), 4: Bounds(30e3, 40e3, 50e3)}
    assert saved_in_processes(1000, 4, prices) == pytest.approx(-0.16)
    assert saved_in_processes(1000, 16, prices) == pytest.approx(-0.64)
    assert saved_in_processes(1000, 1, prices) == pytest.approx(-0.01)


def test_an_interval_is_of_the_gain() -> None:
    assert interval_of(2.0, 1.25) == (1.8, 2.25)
    assert interval_of(0.5, 1.25) == (pytest.approx(1 / 2.25), pytest.approx(1 / 1.8))
    assert interval_of(1.0, 1.25) == (1.0, 1.0)


@given(st.floats(0.01, 100), st.floats(1, 10))
def test_an_interval_holds_its_factor_and_does_not_reach_the_other_side_of_1(factor: float, error: float) -> None:
    low, high = interval_of(factor, error)
    assert 0 < low <= factor * (1 + 1e-9) and factor <= high * (1 + 1e-9)
    assert (low - 1) * (factor - 1) >= 0 and (high - 1) * (factor - 1) >= 0


#: A loop of 100 ns, of which 40 are evaluation.
EVALUATED = """process stop=110
thread 0
0 + phase:evaluation
0 + evaluate
40 -
40 -
40 + inference
70 -
70 + backpropagation
100 -
"""


def test_a_forecast_is_of_the_loop(tmp_path: Path) -> None:
    found = forecast_of(analyzed(tmp_path, EVALUATED), change_of("evaluation=1/4"))
    assert (found.loop_s, found.saved_s) == (pytest.approx(100e-9), pytest.approx(30e-9))
    assert found.factor == pytest.approx(100 / 70)
    assert (found.low, found.high) == interval_of(found.factor, found.error)
    assert found.error == pytest.approx(ERRORS[Model.RARER]) and found.clock == "processor time"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("reset=gone", "'reset' was expected"),
        ("processes=1", "found none"),
        ("processes=4", "found no step"),
        ("environments=4", "environments=8:4"),
        ("launches=graph", "launches of kernels"),
    ],
)
def test_what_a_recording_does_not_tell_is_no_forecast(change: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said):
        forecast_of(analyzed(tmp_path, EVALUATED), change_of(change))


def test_no_forecast_is_made_of_all_of_a_loop(tmp_path: Path) -> None:
    text = "process stop=110\nthread 0\n0 + inference\n100 -\n"
    with pytest.raises(UsageError, match="all of the processor time"):
        forecast_of(analyzed(tmp_path, text), change_of("inference=gone"))


def test_the_document_has_each_change_in_its_order(tmp_path: Path) -> None:
    write_scripts([parse_script(EVALUATED)], tmp_path)
    changes = ("inference=2x", "evaluation=gone")
    options = [word for change in changes for word in ("--change", change)]
    called = call_here("forecast", tmp_path, "--json", *options)
    document = json.loads(called.stdout)
    assert called.returncode == 0 and document["schema"] == 1
    Draft202012Validator(forecast_schema()).validate(document)
    assert [row["change"] for row in document["forecasts"]] == [*changes]
    assert [row["saved_s"] for row in document["forecasts"]] == [pytest.approx(15e-9), pytest.approx(40e-9)]


def errors_of(kept: Mapping[str, Mapping[str, float]], model: Model) -> list[float]:
    return [
        forecasting.gain_error(pair["factor"], pair["measured"])
        for pair in kept.values()
        if pair["model"] == model.value
    ]


@pytest.mark.parametrize("model", sorted({pair["model"] for pair in forecasting.kept().values()}))
def test_the_error_of_a_model_is_the_largest_that_was_measured(model: str) -> None:
    errors = errors_of(forecasting.kept(), Model(model))
    assert max(errors) <= ERRORS[Model(model)] <= max(errors) + 0.1


def test_the_page_is_what_was_kept() -> None:
    assert forecasting.PAGE.read_text() == forecasting.page(forecasting.kept())


@pytest.mark.parametrize("pair", forecasting.PAIRS, ids=lambda pair: pair.name)
def test_a_pair_is_an_edit_of_its_program(pair: forecasting.Pair, tmp_path: Path) -> None:
    texts = [forecasting.program_of(pair, is_edited, tmp_path).read_text() for is_edited in (False, True)]
    assert texts[0] != texts[1] and all("processor" in text for text in texts)
    assert change_of(pair.change).text == pair.change
