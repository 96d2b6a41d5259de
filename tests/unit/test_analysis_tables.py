"""The tables of a trace, its JSON document and the two verbs that print them."""

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

from benchmarks.trace_writer import DEFAULT_BOOT_ID, TraceWriter
from rlscope.analysis.analysis import Analysis, analyze
from rlscope.analysis.contents import read_contents
from rlscope.analysis.correction.corrected import Correction
from rlscope.analysis.correction.costs import Bounds, Cost
from rlscope.analysis.document import document_of
from rlscope.analysis.tables.breakdown import group_seconds
from rlscope.cli.analyze import analyze as analyze_verb
from rlscope.cli.inspect import inspect as inspect_verb
from rlscope.errors import TraceError, TraceFormatError, UsageError
from rlscope.model import Category
from rlscope.trace.format import EndReason
from rlscope.trace.reader import open_trace

MANIFEST: dict[str, Any] = {
    "main_pid": 7, "exit_status": 0, "complete": True, "command": ["python", "train.py"], "python": "3.11",
    "machine": {"hostname": "box", "cores": 2, "boot_id": "x"}, "rlscope_version": "0.1.0",
}  # fmt: skip


@pytest.fixture
def trainer(tmp_path: Path) -> Path:
    """A trainer of 1000 ns with progress, and two workers."""
    writer = TraceWriter(tmp_path / "trace")
    process = writer.process(pid=7, parent_pid=1, start_ticks=5_000)
    process.properties({"process_name": "trainer", "threads": {"7": "MainThread"}, "versions": {"torch": "2.13"}})
    main, helper = process.thread(), process.thread()
    main.progress(5_000, 100, 1_000, is_baseline=True)
    main.begin_phase(5_000, "train")
    main.begin_operation(5_100, "inference")
    main.boundary(5_200, 5_500, Category.BACKEND, "torch.linear")
    main.end(5_600)
    main.progress(5_600, 150, 1_000)
    helper.begin_boundary(5_650, Category.WAIT, "queue.get")
    main.progress(5_700, 200, 1_000)
    main.end(5_800)
    helper.end(5_900)
    process.stop(6_000)
    for pid, start in ((8, 5_100), (9, 5_200)):
        worker = writer.process(pid=pid, parent_pid=7, start_ticks=start)
        worker.thread()
        worker.stop(start + 100, EndReason.EXIT, pid)
    return writer.write(MANIFEST)


@pytest.fixture
def analysis(trainer: Path) -> Analysis:
    return analyze(open_trace(trainer), by_thread=True)


def test_document(analysis: Analysis) -> None:
    document = json.loads(json.dumps(document_of(analysis)))
    breakdown, processes, outside = document.pop("breakdown"), document.pop("processes"), document.pop("outside")
    phases, waits, account = document.pop("phases"), document.pop("waits"), document.pop("account")
    purposes = document.pop("purposes")
    assert {row["purpose"] for row in purposes if row["process"] == "trainer"} == {"training", "afterwards"}
    assert sum(round(row["seconds"] * 1e9) for row in purposes if row["process"] == "trainer") == 1000
    assert document.pop("advice")["text"].startswith("Where the time went: 1 µs of trainer: ")
    assert document.pop("cores")["no_core_share"] == 0
    assert round(sum(row["cpu_s"] for row in document.pop("loop_times")) * 1e9) == sum(
        round(row["seconds"] * 1e9)
        for row in purposes
        if row["part"] == "loop" and row["category"] not in ("wait", "no_core")
    )
    assert {row["process"] for row in account} == {"trainer"}
    assert sum(round(row["seconds"] * 1e9) for row in account) == 1000
    assert {name: value for name, value in document.items() if value != []} == {
        "schema": 1,
        "life": {"process": "trainer", "wall_ns": 1000, "starting_up_ns": 0, "loop_ns": 800, "evaluation_ns": 0,
                 "afterwards_ns": 200, "unplaced_ns": 0},
        "command": "python train.py",
        "hang": None, "complete": True, "dropped_events": 0, "misnested_operations": 0,
        "tokens": None, "tokens_per_s": None, "trained_tokens_per_s": None,
        "transitions": [
            {"process": "trainer", "stage": "(none)", "operation": "(none)", "from": "python", "to": "wait", "count": 1,
             "per_iteration": 0.5, "per_timestep": 0.01},
            {"process": "trainer", "stage": "inference", "operation": "inference", "from": "python", "to": "backend",
             "count": 1, "per_iteration": 0.5, "per_timestep": 0.01},
        ],
        "crossings": [
            {"process": "trainer", "boundary": "queue.get", "count": 1},
            {"process": "trainer", "boundary": "torch.linear", "count": 1},
        ],
        "machines": [
            {"machine": DEFAULT_BOOT_ID.hex()[:8], "boot_id": DEFAULT_BOOT_ID.hex(), "processes": 3,
             "placed": "reference", "ahead_s": 0.0, "error_s": 0.0, "drift_ppm": 0.0, "unanswered": 0},
        ],
        "counter_runs": None,
        "trainings": [
            {"process": "trainer", "training": 1, "iterations": 2, "timesteps": 100, "total_timesteps": 1000,
             "seconds": pytest.approx(7e-7)},
        ],
        "iterations": 2, "timesteps": 100, "total_timesteps": 1000, "extrapolated_s": pytest.approx(7e-6),
        "extrapolated_with_evaluation_s": pytest.approx(7e-6),
            "evaluation_s": {},
        "correction": None, "uncorrected": "no calibration was given",
    }  # fmt: skip
    assert processes[0] == {
        "process": "trainer", "machine": DEFAULT_BOOT_ID.hex()[:8], "pid": 7, "parent_pid": None,
        "parent": None, "role": "main", "exit_status": 0, "complete": True,
        "start_s": 0.0, "end_s": 1e-6, "wall_s": 1e-6,
        "corrected_wall_s": None, "corrected_wall_low_s": None, "corrected_wall_high_s": None,
        "uncorrectable_s": None, "iterations": 2, "threads_in_operations": 1, "beside_s": 0.0,
    }  # fmt: skip
    assert phases[1] == {
        "process": "trainer", "phase": "train", "start_s": 0.0, "end_s": pytest.approx(8e-7),
        "wall_s": pytest.approx(8e-7), "cpu_s": pytest.approx(8e-7), "gpu_s": 0.0, "wait_s": 0.0,
    }  # fmt: skip
    # The helper waits beside the main thread, which works.
    assert waits == [
        {
            "process": "trainer",
            "phase": "train",
            "function": "queue.get",
            "stream": "",
            "kind": "",
            "count": 1,
            "wait_s": 0.0,
            "in_operations_s": 0.0,
            "in_loop_s": 0.0,
        }
    ]
    # What is left of the trainer lies behind its last report.
    assert outside[0] == {
        "process": "trainer", "part": "after", "category": "python", "resource": "cpu", "seconds": pytest.approx(2e-7),
    }  # fmt: skip
    assert [(p["process"], p["parent_pid"], p["role"], p["exit_status"], p["start_s"]) for p in processes[1:]] == [
        ("process (8)", 7, "worker", 8, 1e-7),
        ("process (9)", 7, "worker", 9, 2e-7),
    ]
    assert breakdown[-3] == {
        "process": "trainer", "phase": "train", "stage": "inference", "operation": "inference", "category": "backend",
        "resource": "cpu", "ready_in": "", "outer_stage": "", "seconds": 3e-7,
        "corrected_seconds": None, "corrected_low_s": None, "corrected_high_s": None,
    }  # fmt: skip


def test_breakdown_sums_to_wall(analysis: Analysis) -> None:
    sums = analysis.breakdown.table.groupby("process", sort=False)["seconds"].sum()
    walls = analysis.processes.table.set_index("process")["wall_s"]
    pd.testing.assert_series_equal(sums, walls, check_names=False, rtol=1e-12)


def test_group_seconds(analysis: Analysis) -> None:
    by_category = pd.DataFrame(group_seconds(analysis.breakdown, ["category"]))
    assert by_category.to_dict("list") == {"category": ["python", "backend"], "seconds": pytest.approx([9e-7, 3e-7])}
    by_thread = pd.DataFrame(group_seconds(analysis.threads, ["thread", "category"]))
    trainer_rows = by_thread[by_thread["process"] == "trainer"]
    assert trainer_rows[["thread", "category"]].values.tolist() == [[0, "python"], [0, "backend"], [1, "wait"]]
    assert trainer_rows["seconds"].tolist() == pytest.approx([7e-7, 3e-7, 2.5e-7])
    with pytest.raises(UsageError, match=r"--by takes columns out of process, thread, .* but 'colour' was given"):
        group_seconds(analysis.breakdown, ["colour"])


def test_without_progress(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    process = writer.process()
    thread = process.thread()
    thread.boundary(10, 20, Category.SIMULATOR, "step")
    process.stop(30)
    document = document_of(analyze(open_trace(writer.write(MANIFEST))))
    assert [document[key] for key in ("iterations", "timesteps", "total_timesteps", "extrapolated_s")] == [None] * 4
    assert [document["transitions"][0][key] for key in ("count", "per_iteration", "per_timestep")] == [1, None, None]


def test_progress_without_a_baseline(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    process = writer.process()
    thread = process.thread()
    thread.progress(10, 64)
    thread.progress(20, 128)
    process.stop(30)
    analysis = analyze(open_trace(writer.write(MANIFEST)))
    assert (analysis.iterations, analysis.timesteps, analysis.total_timesteps) == (2, 128, None)
    assert analysis.extrapolated_s is None


def test_names_are_unique(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    for pid, start in ((1, 0), (2, 10), (2, 20), (3, 30)):
        process = writer.process(pid=pid, start_ticks=start)
        process.properties({"process_name": "env" if pid < 3 else "env (2)", "role": "infrastructure"})
        process.stop(start + 5)
    analysis = analyze(open_trace(writer.write(MANIFEST)))
    assert analysis.processes.table["process"].tolist() == ["env (1)", "env (2)", "env (2) #2", "env (2) #3"]
    assert set(analysis.processes.table["role"]) == {"infrastructure"}


def test_killed_worker_makes_the_trace_incomplete(trainer: Path) -> None:
    writer = TraceWriter(trainer)
    writer.process(pid=10, start_ticks=5_500)
    writer.write()
    analysis = analyze(open_trace(trainer))
    assert analysis.complete is False
    assert "process 10: recording did not end in an orderly way" in analysis.why[0]
    assert analysis.processes.table["complete"].tolist() == [True, True, True, False]


def test_damaged_process(trainer: Path) -> None:
    path = trainer / "8-0.rlscope"
    path.write_bytes(path.read_bytes()[:4096] + b"JUNK" + path.read_bytes()[4100:])
    with pytest.raises(TraceFormatError, match=r"8-0\.rlscope is damaged at byte 4096"):
        analyze(open_trace(trainer))
    analysis = analyze(open_trace(trainer), recover=True)
    assert len(analysis.processes.table) == 3
    assert "8-0.rlscope is damaged at byte 4096" in analysis.why[0]


COSTS = Correction(
    {"boundary": Cost(Bounds(10, 10, 10), Bounds(15, 20, 25), Bounds(40, 50, 60), events=9)}, "a test", {}
)


def amplified(directory: Path, amplification: object) -> Path:
    """A trace of 10 us with a call from 1 to 5, by a process that says that its records were amplified."""
    writer = TraceWriter(directory)
    process = writer.process()
    process.properties({"amplification": amplification})
    thread = process.thread()
    thread.boundary(1_000, 5_000, Category.BACKEND, "torch.add")
    process.stop(10_000)
    return writer.write(MANIFEST)


def test_a_process_is_corrected_by_its_amplification(tmp_path: Path) -> None:
    """What the records take 4 times, and the rest once; the single event is off by about as much as it took in all."""
    analysis = analyze(open_trace(amplified(tmp_path, 4)), correction=COSTS)
    corrected = analysis.breakdown.table.set_index("category")["corrected_seconds"]
    assert corrected["backend"] == pytest.approx(4e-6 - 40e-9)
    assert corrected["python"] == pytest.approx(6e-6 - 130e-9)
    (process,) = analysis.processes.table.to_dict("records")
    off = process["corrected_wall_high_s"] - process["corrected_wall_s"]
    assert off == pytest.approx(math.hypot(30e-9, 1.96 * 170e-9), rel=1e-3)


@pytest.mark.parametrize("amplification", [0, -1, 1001, 2.0, True, "4", None, [4]])
def test_an_amplification_that_cannot_be(tmp_path: Path, amplification: object) -> None:
    trace = open_trace(amplified(tmp_path, amplification))
    with pytest.raises(TraceError, match=r"from 1 to 1000 was expected, but .*\.rlscope say .*--correct none") as error:
        analyze(trace, correction=COSTS, recover=True)
    assert repr(amplification) in str(error.value)
    assert analyze(trace).processes.table["wall_s"].tolist() == [1e-5]


def test_contents(trainer: Path) -> None:
    contents = read_contents(open_trace(trainer))
    document = json.loads(json.dumps(contents.to_json_dict()))
    assert document["complete"] is True
    assert document["events"] == 4
    assert document["events_by_kind"] == {
        "operation": 1, "phase": 1, "python": 0, "simulator": 0, "backend": 1, "cuda": 0, "wait": 1, "native": 0,
        "kernel": 0, "copy": 0, "memset": 0,
    }  # fmt: skip
    assert document["bytes"] == sum(path.stat().st_size for path in trainer.glob("*.rlscope"))
    assert document["bytes_per_event"] == document["bytes"] / 4
    assert [(row["process"], row["thread"], row["name"], row["events"]) for row in document["threads"]][:2] == [
        ("trainer", 0, "MainThread", 3),
        ("trainer", 1, None, 1),
    ]
    assert [(row["boundary"], row["count"]) for row in document["crossings"]] == [("queue.get", 1), ("torch.linear", 1)]
    assert document["versions"] == {"torch": "2.13"}
    assert [row["ended"] for row in document["processes"]] == ["stopped", "_exit(), status 8", "_exit(), status 9"]


def run(verb: Any, *arguments: object) -> str:
    result = CliRunner().invoke(verb, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_analyze_prints_tables_of_80_columns(trainer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(trainer.parent)
    output = run(analyze_verb, "trace", "--all")
    assert "3 processes" in output and "2 iterations" in output
    assert "- times include what recording added: there is no calibration in" in output
    assert all(title in output for title in ("Processes", "Where the time went", "Transitions"))
    assert max(map(len, output.splitlines())) <= 80


def test_analyze_as_json(trainer: Path) -> None:
    assert json.loads(run(analyze_verb, trainer, "--json"))["schema"] == 1
    several = json.loads(run(analyze_verb, trainer, trainer, "--json", "--by", "category"))
    assert [document["trace"] for document in several] == [str(trainer)] * 2
    assert [set(row) for row in several[0]["breakdown"]] == [{"category", "seconds"}] * 2


def test_analyze_to_files(trainer: Path, tmp_path: Path) -> None:
    run(analyze_verb, trainer, "--csv", tmp_path / "one.csv")
    run(analyze_verb, trainer, trainer, "--by", "thread", "--parquet", tmp_path / "two.parquet")
    one = pd.read_csv(tmp_path / "one.csv", keep_default_na=False)
    assert one.columns.tolist()[:6] == ["process", "phase", "stage", "operation", "category", "resource"]
    assert pd.read_parquet(tmp_path / "two.parquet").columns.tolist() == ["trace", "process", "thread", "seconds"]


def test_analyze_takes_one_output_format(trainer: Path) -> None:
    with pytest.raises(UsageError, match="one of --json, --csv and --parquet was expected"):
        run(analyze_verb, trainer, "--json", "--csv", "x.csv")


def test_process_file_that_cannot_be_read(trainer: Path) -> None:
    (trainer / "99-0.rlscope").mkdir()
    with pytest.raises(TraceError, match=r"99-0\.rlscope is no regular file"):
        open_trace(trainer)


def test_inspect_prints_what_is_there(trainer: Path) -> None:
    output = run(inspect_verb, trainer)
    for part in ("4 events", "nothing is known to be missing", "command: python train.py", "hostname box", "torch 2.13",
                 "process (8): pid 8, worker", "torch.linear", "MainThread"):  # fmt: skip
        assert part in output
    assert json.loads(run(inspect_verb, trainer, "--json"))["events"] == 4
