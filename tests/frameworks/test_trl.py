"""TRL without edits: stages against the program's own stopwatches, progress, and the same result as unrecorded."""

import json
from typing import Any

import pytest
from framework_runs import PROGRAMS, record_in, run_in
from recording import Recording

from rlscope.model import Purpose

TOLERANCE = 0.05
STEPS = 3
OFFLINE = {"HF_HUB_OFFLINE": "1"}
OPERATIONS = {
    ("training_loop", "training_loop"), ("training_loop", "prepare_inputs"), ("simulation", "reward"),
    ("inference", "generate"), ("inference", "prefill"), ("inference", "decode"), ("inference", "logprobs"),
    ("backpropagation", "update_actor"), ("backpropagation", "logprobs"),
}  # fmt: skip


@pytest.fixture(scope="module", params=["grpo", "rloo"])
def algorithm(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def recording(algorithm: str, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return record_in("pytorch", tmp_path_factory.mktemp("trl") / "trace", "trl_few.py", algorithm, **OFFLINE)


def printed(stdout: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(stdout.splitlines()[-1])
    return result


@pytest.mark.parametrize("stage", ["simulation", "inference", "backpropagation"])
def test_a_stage_has_the_time_that_the_program_measured(stage: str, recording: Recording) -> None:
    measured = printed(recording.stdout)["seconds"][stage]
    assert recording.seconds(stage=stage) == pytest.approx(measured, rel=TOLERANCE)


def test_operations_have_the_names_of_the_vocabulary(recording: Recording) -> None:
    rows = [row for row in recording.analysis["breakdown"] if row["phase"] == "(none)"]
    stages = {(stage, stage) for stage in ("simulation", "inference", "backpropagation")}
    purposes = {purpose.value for purpose in Purpose}
    found = {(row["stage"], row["operation"]) for row in rows if row["operation"] not in purposes}
    assert found - stages == OPERATIONS
    assert {"callback", "log"} <= {row["operation"] for row in rows}
    assert recording.main_sweep()["misnested_operations"] == 0


def test_an_iteration_is_a_step_of_the_optimizer(recording: Recording) -> None:
    analysis = recording.analysis
    assert (analysis["iterations"], analysis["timesteps"], analysis["total_timesteps"]) == (STEPS, STEPS, STEPS)


def test_testing_the_model_is_the_phase_evaluation(recording: Recording) -> None:
    assert recording.seconds(phase="evaluation", stage="inference", operation="decode") > 0
    assert recording.analysis["evaluation_s"] == {"main": pytest.approx(recording.seconds(phase="evaluation"))}


def test_it_trains_as_unrecorded_and_asks_no_other_machine(algorithm: str, recording: Recording) -> None:
    plain = run_in("pytorch", PROGRAMS / "trl_few.py", algorithm, **OFFLINE)
    assert plain.returncode == 0, plain.stderr[-4000:]
    with_it, without = printed(recording.stdout), printed(plain.stdout)
    assert with_it["connections"] == without["connections"] == []
    assert len(without["rewards"]) == STEPS
    assert (with_it["digest"], with_it["rewards"]) == (without["digest"], without["rewards"])


def test_the_asynchronous_workers_samples_are_tasks_with_stages(tmp_path_factory: pytest.TempPathFactory) -> None:
    trace = tmp_path_factory.mktemp("worker") / "trace"
    recording = record_in("pytorch", trace, "trl_async_worker.py", **OFFLINE, TRL_EXPERIMENTAL_SILENCE="1")
    told, analysis = printed(recording.stdout), recording.analysis
    tasks = {(task["process"] == "main", task["operation"]): task for task in analysis["tasks"]}
    assert tasks[False, "generate"]["count"] == told["asked"]["first"] + told["asked"]["second"]
    assert tasks[False, "tool_call"]["count"] == told["asked"]["first"]
    assert tasks[False, "rollout"]["count"] == told["asked"]["second"] >= told["samples"]
    # Each is at least as long as what it slept for.
    for operation, seconds in {"generate": 0.06, "tool_call": 0.04, "reward": 0.02, "rollout": 0.16}.items():
        assert tasks[False, operation]["elapsed_p50_s"] >= seconds, operation
    (samples,) = analysis["samples"]
    assert samples["count"] == tasks[False, "rollout"]["count"]
    assert samples["tokens"] == samples["count"] * told["tokens"] == analysis["tokens"]
    assert (samples["oldest_version"], samples["newest_version"]) == (5, 5)
    assert tasks[True, "wait_for_batch"]["elapsed_s"] >= 0.16  # until the first sample is there
    worker = {(row["stage"], row["operation"]) for row in analysis["breakdown"] if row["process"] != "main"}
    assert {("inference", "generate"), ("simulation", "tool_call"), ("simulation", "reward")} <= worker
    assert analysis["misnested_operations"] == 0
