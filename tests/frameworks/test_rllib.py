"""RLlib without edits: stages, finer operations and names in every process, on both API stacks, and progress."""

import pytest
from framework_runs import record_in
from recording import Recording

from rlscope.model import Purpose

RUNNERS = ("SingleAgentEnvRunner 1", "SingleAgentEnvRunner 2")
LEARNER = "PPOTorchLearner 1"
ACTING = {("inference", "env_to_module"), ("inference", "sample_action"), ("inference", "module_to_env")}
STEPPING = {("simulation", "simulation"), ("simulation", "reset")}
COLLECTING = ("training_loop", "collect_data")
SYNCHRONISING = ("synchronisation", "sync_weights")
UPDATING = {
    ("backpropagation", operation)
    for operation in ("learner_connector", "forward_train", "compute_losses", "compute_gradients", "apply_gradients")
}

LEAVING = {purpose.value for purpose in Purpose if purpose.leaves_stage}


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    trace = tmp_path_factory.mktemp("rllib") / "trace"
    return record_in("pytorch", trace, "rllib_few.py", RAY_AUTH_MODE="disabled", RAY_USAGE_STATS_ENABLED="0")


def operations(recording: Recording, process: str, phase: str = "(none)") -> set[tuple[str, str]]:
    """Stages and operations in which this process was, in that phase."""
    rows = recording.analysis["breakdown"]
    return {(row["stage"], row["operation"]) for row in rows if (row["process"], row["phase"]) == (process, phase)}


def stages(recording: Recording, process: str, phase: str = "(none)") -> set[str]:
    """Stages in which it was, but for what has left them, as importing does."""
    return {stage for stage, operation in operations(recording, process, phase) if operation not in LEAVING}


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_runner_simulates_and_acts(recording: Recording, runner: str) -> None:
    assert {*ACTING, *STEPPING, COLLECTING, SYNCHRONISING} <= operations(recording, runner)
    assert stages(recording, runner) == {"(none)", "training_loop", "simulation", "inference", "synchronisation"}
    assert recording.seconds(process=runner, operation="(none)", category="wait") > 0  # for its next task


def test_each_step_of_an_environment_is_simulation(recording: Recording) -> None:
    sweeps = [recording.sweep_of(runner) for runner in RUNNERS]
    for swept in sweeps:
        assert (swept["dropped_records"], swept["misnested_operations"]) == (0, 0)
    steps = [swept["crossings"]["mujoco._functions.mj_step"] for swept in sweeps]
    assert min(steps) > 0
    assert sum(steps) == recording.printed["steps"]["actors"]
    # Of the calls that a step makes, the simulator's second is that for the forces; none is outside the operation.
    calls = [
        (stage, count)
        for swept in sweeps
        for stage, operation, _, to, count in swept["transitions"]
        if (operation, to) == ("simulation", "simulator")
    ]
    assert calls == [("simulation", 2 * count) for count in steps]


def test_a_learner_that_is_an_actor_updates(recording: Recording) -> None:
    found = operations(recording, LEARNER)
    assert {*UPDATING, ("backpropagation", "compute_advantage_estimates"), SYNCHRONISING} <= found
    assert stages(recording, LEARNER) == {"(none)", "backpropagation", "synchronisation"}
    assert recording.seconds(process=LEARNER, operation="compute_gradients", category="backend") > 0


def test_the_algorithm_waits_for_its_actors(recording: Recording) -> None:
    assert stages(recording, "main", "actors") == {"(none)", "training_loop", "backpropagation", "synchronisation"}
    for operation in ("collect_data", "backpropagation", "sync_weights"):
        assert recording.seconds(process="main", phase="actors", operation=operation, category="wait") > 0, operation


def test_off_policy_training_in_one_process(recording: Recording) -> None:
    expected = {
        *ACTING,
        *STEPPING,
        *UPDATING,
        COLLECTING,
        ("training_loop", "training_loop"),
        ("training_loop", "replay_buffer_add"),
        SYNCHRONISING,
        ("training_loop", "evaluate"),
        ("backpropagation", "sample_batch"),
        ("backpropagation", "update_priorities"),
        ("backpropagation", "update_target_network"),
    }
    assert expected <= operations(recording, "main", "dqn")


def test_the_old_api_stack_has_its_stages(recording: Recording) -> None:
    expected = {*STEPPING, COLLECTING, ("inference", "sample_action"), ("backpropagation", "backpropagation")}
    assert expected <= operations(recording, "main", "old")


def test_progress_is_reported_once_per_iteration(recording: Recording) -> None:
    trainings = recording.main_sweep()["trainings"]
    assert sum(training.iterations for training in trainings) == recording.printed["iterations"]
    assert {training.baseline_timesteps for training in trainings} == {0}
    assert [training.last_timesteps for training in trainings] == list(recording.printed["steps"].values())
