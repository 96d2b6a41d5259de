"""What bounds a run: constructed traces with known answers, kept runs on a GPU, and what verbs show of it."""

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from pieces import Piece, advice_of, send, traced
from rows_of import rows_of

from rlscope.analysis.account.kinds import Bound
from rlscope.analysis.account.owner_path import owner_path
from rlscope.analysis.advice.advice import Advice, advise
from rlscope.analysis.advice.changes import CORES
from rlscope.analysis.analysis import analyze
from rlscope.analysis.devices.rows import DeviceIdleRow, GpuOperationRow
from rlscope.analysis.document import document_of
from rlscope.analysis.lines.rows import CallSiteRow, LineRow, SyncPointRow
from rlscope.analysis.machines import core_use
from rlscope.analysis.memory.rows import MemoryGrowthRow
from rlscope.analysis.ranks.rows import CollectiveRow, DeviceRankRow, StragglerRow
from rlscope.analysis.rows import Rows
from rlscope.analysis.table_rows import (
    BreakdownRow,
    DependencyRow,
    OutsideRow,
    ProcessRow,
    TransitionRow,
    WaitRow,
)
from rlscope.analysis.tables.loop import loops_of
from rlscope.analysis.tables.purposes import PurposeRow
from rlscope.analysis.tables.samples import SampleTailRow
from rlscope.cli.analyze import analyze as analyze_verb
from rlscope.model import STAGES, Category
from rlscope.trace.reader import open_trace

KEPT = Path(__file__).parents[2] / "experiments" / "RL_framework_comparison" / "measured"


def wait(seconds: float, operation: str, name: str) -> Piece:
    return Piece(seconds, operation, Category.WAIT, name)


def receive(seconds: float, operation: str, stream: str) -> Piece:
    return wait(seconds, operation, f"posix.read {stream}")


@pytest.fixture
def advice_on(tmp_path: Path) -> Callable[..., Advice]:
    def of(*pieces: Piece, **others: Sequence[Piece]) -> Advice:
        return advice_of(traced(tmp_path, {"main": pieces, **others}))

    return of


def savings(advice: Advice) -> dict[str, float]:
    return {change.name: change.saving_s for change in advice.changes}


SIMULATOR = Piece(1, "simulation", Category.SIMULATOR)
PYTHON = Piece(1, "inference")
BACKEND = Piece(1, "backpropagation", Category.BACKEND)
LAUNCH = Piece(1, "backpropagation", Category.CUDA)
OVERLAP = Piece(1, "backpropagation", Category.BACKEND, on_device=True)
GPU = Piece(1, "backpropagation", Category.CUDA_WAIT, on_device=True)
SLEEP = Piece(1, "simulation", Category.WAIT, "time.sleep")
COMPILE = Piece(1, "compile", Category.BACKEND)
NO_CORE = Piece(1, "simulation", Category.NO_CORE)
EACH = {
    Bound.SIMULATOR: SIMULATOR, Bound.PYTHON: PYTHON, Bound.BACKEND: BACKEND, Bound.LAUNCHES: LAUNCH,
    Bound.OVERLAP: OVERLAP, Bound.GPU: GPU, Bound.WAITING: SLEEP, Bound.COMPILATION: COMPILE,
    Bound.NO_CORE: NO_CORE,
}  # fmt: skip


@pytest.mark.parametrize("cause", EACH)
def test_each_cause(advice_on: Callable[..., Advice], cause: Bound) -> None:
    """Eight seconds of the cause beside one of every other."""
    piece = EACH[cause]
    advice = advice_on(*(other for other in EACH.values() if other is not piece), piece._replace(seconds=8))
    assert (advice.cause, advice.process, advice.stands_out) == (cause, "main", True)
    assert (advice.total_s, advice.seconds, advice.share) == tuple(map(pytest.approx, (16, 8, 0.5)))
    assert {each.cause: round(each.seconds, 6) for each in advice.causes} == dict.fromkeys(EACH, 1) | {cause: 8}
    assert " Bound by " in advice.text  # after what was waited in
    assert "8 s of 16 s (50 % of the loop)" in advice.text and "without it, at most 2 times as fast" in advice.text


def test_waiting_for_a_device_that_is_idle_is_a_cuda_call(advice_on: Callable[..., Advice]) -> None:
    advice = advice_on(Piece(2, "backpropagation", Category.CUDA_WAIT), PYTHON)
    assert advice.cause is Bound.LAUNCHES


def test_a_device_at_work_in_a_wait_bounds_it(advice_on: Callable[..., Advice]) -> None:
    advice = advice_on(SLEEP._replace(seconds=2, on_device=True), PYTHON)
    assert advice.cause is Bound.GPU


def test_nothing_stands_out(advice_on: Callable[..., Advice]) -> None:
    advice = advice_on(*(piece._replace(seconds=1 + (cause is Bound.PYTHON)) for cause, piece in EACH.items()))
    assert not advice.stands_out
    assert (
        "Nothing stands out; the largest part is Python: 2 s of 10 s (20 % of the loop), in inference." in advice.text
    )
    assert advice.text.count("1 s (10 %") == 9  # the wait by its function too


def test_the_stage_with_most_of_a_cause_is_said(advice_on: Callable[..., Advice]) -> None:
    advice = advice_on(Piece(3, "simulation"), Piece(2, "inference"))
    assert "Python: 5 s of 5 s (100 % of the loop), 3 s of it in simulation." in advice.text


def test_changes(advice_on: Callable[..., Advice]) -> None:
    """4 s of simulation, 2 of inference, 3 of the CPU and 1 of the device in the update."""
    advice = advice_on(
        SIMULATOR._replace(seconds=3), Piece(1, "simulation"),
        PYTHON, Piece(1, "inference", Category.BACKEND),
        Piece(1, "backpropagation"), BACKEND, LAUNCH, GPU,
    )  # fmt: skip
    assert {change.name: (change.saving_s, change.speedup) for change in advice.changes} == {
        "step environments asynchronously": (pytest.approx(4), pytest.approx(10 / 6)),
        "move the simulation to the device": (pytest.approx(4), pytest.approx(10 / 6)),
        "compile the update": (pytest.approx(3), pytest.approx(10 / 7)),
        "batch inference": (pytest.approx(2), pytest.approx(10 / 8)),
    }
    assert (
        "At most: step environments asynchronously or move the simulation to the device, 1.67 times as fast (4 s less, "
        "if nothing waited for a simulation); compile the update, 1.43 times as fast (3 s less, if the CPU took no "
        "time for the update); batch inference, 1.25 times as fast (2 s less, if inference took no time)."
    ) in advice.text


def test_a_core_for_each_thread_saves_what_was_waited_for_one(advice_on: Callable[..., Advice]) -> None:
    advice = advice_on(NO_CORE._replace(seconds=6), PYTHON._replace(seconds=2))
    assert savings(advice)[CORES] == pytest.approx(6)
    assert CORES not in savings(advice_on(PYTHON))


def test_what_the_device_works_stays_with_a_compiled_update(advice_on: Callable[..., Advice]) -> None:
    advice = advice_on(OVERLAP._replace(seconds=6), Piece(4, "backpropagation"))
    assert savings(advice) == {"compile the update": pytest.approx(4)}


def test_a_change_to_all_there_is_has_no_bound(advice_on: Callable[..., Advice]) -> None:
    advice = advice_on(SIMULATOR)
    assert [change.speedup for change in advice.changes] == [None, None]
    assert "all of it (1 s less" in advice.text


def test_of_stages_that_are_not_named_nothing_is_known(advice_on: Callable[..., Advice]) -> None:
    advice = advice_on(Piece(3, "simulation"), Piece(1, "choose_action"))
    assert set(savings(advice)) == {"step environments asynchronously", "move the simulation to the device"}
    assert (
        "No time of the path is in inference or backpropagation, so what a change there could save is not known."
        in advice.text
    )
    assert (
        "1 s (25 % of the loop) are in no stage (choose_action 1 s), so no change covers them. Name it with"
        in advice.text
    )
    assert "rlscope record --operation simulation=MODULE:FUNCTION" in advice.text


def test_small_savings_are_not_said(advice_on: Callable[..., Advice]) -> None:
    advice = advice_on(Piece(0.4, "inference"), Piece(9.6, "training_loop"))
    assert "No change that is known here could save 5 %." in advice.text
    assert savings(advice) == {"batch inference": pytest.approx(0.4)}


def test_a_lock_step(advice_on: Callable[..., Advice]) -> None:
    """Two workers step for 4 and 6 s; the learner waits 8 s for them and works 2 s."""
    advice = advice_on(
        receive(6, "simulation", "pipe:[0]"), receive(2, "simulation", "pipe:[1]"), Piece(2, "backpropagation"),
        worker_0=(Piece(3), Piece(4, "simulation", Category.SIMULATOR), receive(3, "", "pipe:[9]"), send("pipe:[0]")),
        worker_1=(Piece(2), Piece(6, "simulation", Category.SIMULATOR), receive(2, "", "pipe:[9]"), send("pipe:[1]")),
    )  # fmt: skip
    assert (advice.process, advice.cause) == ("main", Bound.SIMULATOR)
    assert {each.cause: each.seconds for each in advice.causes} == {
        Bound.SIMULATOR: pytest.approx(5), Bound.WAITING: pytest.approx(3), Bound.PYTHON: pytest.approx(2),
    }  # fmt: skip
    assert (
        "main waited 8 s for worker_0 and 1 more, which needed 5 s on average (4 s to 6 s), 100 % of it the "
        "simulator; the other 3 s went to the slowest of them, to messages or to too few cores."
    ) in advice.text
    assert savings(advice) == {
        "move the simulation to the device": pytest.approx(8),
        # The workers still need 5 s on average.
        "step environments asynchronously": pytest.approx(5),
        "compile the update": pytest.approx(2),
    }


def test_waiting_outside_operations_does_not_count(advice_on: Callable[..., Advice]) -> None:
    """Half of the waiting for the worker is for its start."""
    advice = advice_on(
        receive(4, "", "pipe:[0]"), receive(4, "simulation", "pipe:[0]"), Piece(2, "backpropagation"),
        worker=(Piece(4), SIMULATOR._replace(seconds=4), send("pipe:[0]")),
    )  # fmt: skip
    assert {each.cause: each.seconds for each in advice.causes} == {
        Bound.SIMULATOR: pytest.approx(4), Bound.PYTHON: pytest.approx(2),
    }  # fmt: skip
    assert "Left out of main: 4 s before the training loop, as starting up." in advice.text


def test_all_waiting_in_a_phase_counts(tmp_path: Path) -> None:
    """In no operation, as of a process that receives what it trains on."""
    processes = {
        "training": (receive(6, "", "pipe:[0]"), Piece(4, "backpropagation")),
        "self_play": (Piece(5, "inference", Category.BACKEND), Piece(1), send("pipe:[0]")),
    }
    advice = advice_of(traced(tmp_path, processes, phase="generation"))
    assert (advice.process, advice.total_s) == ("training", pytest.approx(10))
    assert {each.cause: each.seconds for each in advice.causes} == {
        Bound.BACKEND: pytest.approx(5), Bound.PYTHON: pytest.approx(5),
    }  # fmt: skip
    assert savings(advice)["batch inference"] == pytest.approx(5)


def test_what_a_worker_waits_outside_operations_is_not_its_work(advice_on: Callable[..., Advice]) -> None:
    """It sleeps in a step, and waits for the learner's next action outside of it."""
    advice = advice_on(
        receive(5, "simulation", "pipe:[0]"), Piece(5, "backpropagation"),
        worker=(receive(6, "", "pipe:[9]"), SLEEP._replace(seconds=4), send("pipe:[0]")),
    )  # fmt: skip
    assert "main waited 5 s for worker, which needed 4 s, 100 % of it waiting; the other 1 s went" in advice.text


def test_waits_are_followed_to_the_end(advice_on: Callable[..., Advice]) -> None:
    """The trainer waits for an actor, which waits for a server, which waits for the actor."""
    advice = advice_on(
        Piece(2, "backpropagation"), receive(8, "training_loop", "pipe:[0]"),
        actor=(Piece(2, "simulation"), receive(6, "inference", "pipe:[1]"), send("pipe:[0]"), send("pipe:[2]")),
        server=(
            Piece(5.5, "inference", Category.BACKEND), Piece(0.5, "inference"), receive(2, "inference", "pipe:[2]"),
            send("pipe:[1]"),
        ),
    )  # fmt: skip
    assert (advice.process, advice.cause) == ("main", Bound.BACKEND)
    assert {each.cause: each.seconds for each in advice.causes} == {
        Bound.BACKEND: pytest.approx(5.5), Bound.PYTHON: pytest.approx(4.5),
    }  # fmt: skip
    assert savings(advice)["batch inference"] == pytest.approx(6)


def test_the_process_with_most_time_in_operations_paces_the_run(advice_on: Callable[..., Advice]) -> None:
    advice = advice_on(Piece(20), PYTHON, self_play=(Piece(5, "simulation"),))
    assert (advice.process, advice.total_s) == ("self_play", pytest.approx(5))


def test_processes_of_the_machinery_pace_nothing(tmp_path: Path) -> None:
    trace = traced(
        tmp_path, {"main": (Piece(2, "inference"),), "server": (Piece(9, "inference"),)}, {"server": "infrastructure"}
    )
    assert advice_of(trace).process == "main"


RAY_GET = "ray._raylet.CoreWorker.get_objects"


def test_waits_without_another_end_are_assumed_to_be_for_those_that_worked(advice_on: Callable[..., Advice]) -> None:
    advice = advice_on(
        wait(8, "training_loop", RAY_GET), Piece(2, "backpropagation"),
        runner_1=(SIMULATOR._replace(seconds=7), wait(3, "training_loop", RAY_GET)),
        runner_2=(SIMULATOR._replace(seconds=7),),
        bystander=(Piece(50),),
    )  # fmt: skip
    assert (advice.cause, advice.seconds) == (Bound.SIMULATOR, pytest.approx(7))
    assert "8 s of it were for them is assumed: the other end was not recorded" in advice.text
    assert savings(advice)["move the simulation to the device"] == pytest.approx(8)


def test_a_handshake_before_the_training_says_nothing_of_other_waits(advice_on: Callable[..., Advice]) -> None:
    advice = advice_on(
        receive(1, "", "pipe:[0]"), wait(8, "training_loop", RAY_GET), Piece(2, "backpropagation"),
        helper=(Piece(0.5, "own"), send("pipe:[0]")),
        runner=(SIMULATOR._replace(seconds=7.5),),
    )  # fmt: skip
    # Shared by how much work each had.
    assert (advice.cause, advice.seconds) == (Bound.SIMULATOR, pytest.approx(7.5))
    assert "main waited 7.5 s for runner" in advice.text


def test_a_worker_without_operations_is_followed(advice_on: Callable[..., Advice]) -> None:
    advice = advice_on(
        receive(8, "simulation", "pipe:[0]"), Piece(2, "backpropagation"),
        worker_0=(Piece(8, "", Category.SIMULATOR, "step"), send("pipe:[0]")),
    )  # fmt: skip
    assert (advice.process, advice.cause, advice.seconds) == ("main", Bound.SIMULATOR, pytest.approx(8))
    assert "main waited 8 s for worker_0, which needed 8 s, 100 % of it the simulator." in advice.text
    assert savings(advice)["move the simulation to the device"] == pytest.approx(8)
    assert "in no stage" not in advice.text


def test_waits_without_another_end_are_for_processes_with_operations(advice_on: Callable[..., Advice]) -> None:
    """A pipe from a process without any says less of who `ray.get` is for."""
    advice = advice_on(
        wait(8, "training_loop", RAY_GET), receive(2, "training_loop", "pipe:[0]"),
        helper=(Piece(2), send("pipe:[0]")),
        runner=(SIMULATOR._replace(seconds=8),),
    )  # fmt: skip
    assert (advice.cause, advice.seconds) == (Bound.SIMULATOR, pytest.approx(8))
    assert "main waited 8 s for runner" in advice.text and "main waited 2 s for helper" in advice.text


def test_waits_without_another_end_are_for_who_else_was_waited_for_if_no_other_has_operations(
    advice_on: Callable[..., Advice],
) -> None:
    advice = advice_on(
        wait(6, "simulation", "select.poll.poll"), receive(2, "simulation", "pipe:[0]"),
        worker=(Piece(8, "", Category.SIMULATOR, "step"), send("pipe:[0]")),
    )  # fmt: skip
    assert (advice.process, advice.cause, advice.seconds) == ("main", Bound.SIMULATOR, pytest.approx(8))
    assert "main waited 8 s for worker" in advice.text


def test_waits_in_two_stages_for_two_processes(advice_on: Callable[..., Advice]) -> None:
    """What one does in its stage stays if the other's goes."""
    advice = advice_on(
        receive(5, "simulation", "pipe:[0]"), receive(5, "inference", "pipe:[1]"),
        env=(SIMULATOR._replace(seconds=5), send("pipe:[0]")),
        server=(Piece(5, "inference", Category.BACKEND), send("pipe:[1]")),
    )  # fmt: skip
    assert {change.name: (change.saving_s, change.speedup) for change in advice.changes} == {
        "batch inference": (pytest.approx(5), pytest.approx(2)),
        "step environments asynchronously": (pytest.approx(5), pytest.approx(2)),
        "move the simulation to the device": (pytest.approx(5), pytest.approx(2)),
    }


def test_a_process_that_sleeps_in_one_stage_and_waits_in_another(advice_on: Callable[..., Advice]) -> None:
    """The wait for the server may have been in the one or in the other, so more than 5 s of inference may go."""
    advice = advice_on(
        SLEEP._replace(seconds=5), receive(5, "inference", "pipe:[0]"),
        server=(Piece(5, "inference", Category.BACKEND), send("pipe:[0]")),
    )  # fmt: skip
    assert savings(advice) == {
        "batch inference": pytest.approx(10),
        "step environments asynchronously": pytest.approx(5),
        "move the simulation to the device": pytest.approx(5),
    }


def test_a_change_to_a_stage_in_which_others_do_what_has_no_name_is_known(advice_on: Callable[..., Advice]) -> None:
    advice = advice_on(
        receive(3, "inference", "pipe:[0]"), Piece(1, "training_loop"), server=(Piece(3, "serve"), send("pipe:[0]"))
    )
    assert savings(advice) == {"batch inference": pytest.approx(3)}


def test_what_is_waited_for_through_another_goes_too(advice_on: Callable[..., Advice]) -> None:
    """An actor waits in each stage for another process, one of which does what has no name."""
    advice = advice_on(
        Piece(1, "backpropagation"), receive(9, "training_loop", "pipe:[0]"),
        actor=(receive(4, "inference", "pipe:[1]"), receive(5, "simulation", "pipe:[2]"), send("pipe:[0]")),
        server=(Piece(4, "serve"), send("pipe:[1]")),
        env=(SIMULATOR._replace(seconds=5), send("pipe:[2]")),
    )  # fmt: skip
    assert savings(advice)["batch inference"] == pytest.approx(4)


def test_a_chain_of_processes_may_be_longer_than_calls_can_be_nested(advice_on: Callable[..., Advice]) -> None:
    names = ["".join(letters) for letters in itertools.product("abcdefgh", repeat=3)][
        :200
    ]  # none does what another does
    chain = {
        name: (receive(4, "simulation", f"pipe:[{place}]"), send(f"pipe:[{place - 1}]"))
        for place, name in enumerate(names, start=1)
    }
    last = {"simulator": (SIMULATOR._replace(seconds=3), send(f"pipe:[{len(names)}]"))}
    advice = advice_on(receive(4, "inference", "pipe:[0]"), **chain, **last)
    assert (advice.cause, advice.seconds) == (Bound.SIMULATOR, pytest.approx(3))
    assert savings(advice)["move the simulation to the device"] == pytest.approx(4)


def test_processes_whose_names_have_a_number_and_a_process_id_do_the_same(advice_on: Callable[..., Advice]) -> None:
    advice = advice_on(
        wait(8, "training_loop", RAY_GET),
        **{f"env-{number} ({number + 40})": (SIMULATOR._replace(seconds=number),) for number in (2, 4)},
    )
    assert "main waited 8 s for env-2 (42) and 1 more, which needed 3 s on average (2 s to 4 s)" in advice.text


@pytest.mark.parametrize(
    ("names", "is_same"),
    [
        (("env", "env_1-2 (34) #5"), True),
        (("env1", "env 20(3)"), True),
        (("env-1-ppo", "env-2-ppo"), False),
        # A time with a fraction: to try each way to split it would take longer than anyone waits.
        ((f"env-{'1234567890' * 8}-ppo", f"env-{'1234567890' * 8}1-ppo"), False),
    ],
)
def test_only_numbers_at_the_end_of_a_name_are_left_out(
    advice_on: Callable[..., Advice], names: tuple[str, str], is_same: bool
) -> None:
    advice = advice_on(wait(8, "training_loop", RAY_GET), **dict.fromkeys(names, (SIMULATOR,)))
    assert ("and 1 more" in advice.text) == is_same


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        ("time.sleep", "timer"),
        ("posix.fsync", "disk"),
        ("_thread.LockType.acquire", "lock"),
        ("_queue.SimpleQueue.get", "lock"),
    ],
)
def test_waits_in_which_no_process_has_a_part_stay(advice_on: Callable[..., Advice], function: str, kind: str) -> None:
    advice = advice_on(wait(8, "training_loop", function), Piece(2, "backpropagation"), runner=(SIMULATOR,))
    assert (advice.cause, advice.seconds) == (Bound.WAITING, pytest.approx(8))
    assert savings(advice) == {"compile the update": pytest.approx(2)}
    assert advice.text.startswith(
        f"{function} ({kind}), 1 call, 8 s of main (80 % of the loop) in training_loop: without it at most 5 times as "
        "fast. Bound by waiting"
    )


def test_many_calls_are_told_from_long_ones(advice_on: Callable[..., Advice]) -> None:
    """Calls while a device works, of another category, stage or process, or from the same category, are others."""
    call = Piece(0.02, "backpropagation", Category.BACKEND)
    others = (BACKEND._replace(operation="inference", seconds=0.1), Piece(0.1, "compile", Category.BACKEND))
    advice = advice_on(*[call] * 100, *others, Piece(0.1), worker=(call,))
    assert "2.1 s of 2.2 s (95 % of the loop), 2 s of it in backpropagation, 100 entries of 20 ms;" in advice.text


def test_without_operations_all_time_counts(advice_on: Callable[..., Advice]) -> None:
    advice = advice_on(Piece(3), Piece(2, "", Category.BACKEND))
    assert (advice.cause, advice.total_s) == (Bound.PYTHON, pytest.approx(5))
    assert "No operation or phase was recorded, so all seconds of main count, starting up too." in advice.text
    assert advice.changes == ()


def test_an_incomplete_trace_is_said(tmp_path: Path) -> None:
    analysis = analyze(open_trace(traced(tmp_path, {"main": (PYTHON,)})))
    advice = analysis.replaced(complete=False, dropped_events=1234).advice
    assert advice is not None
    assert "The trace is incomplete (1,234 records lost), so seconds may be missing." in advice.text


def test_a_device_that_others_use_is_said(advice_on: Callable[..., Advice]) -> None:
    shared = advice_on(GPU, worker=(GPU._replace(seconds=0.5),))
    assert "Other processes used a device too" in shared.text


def test_no_advice_without_time(tmp_path: Path) -> None:
    analysis = analyze(open_trace(traced(tmp_path, {"main": ()})))
    assert analysis.advice is None
    assert document_of(analysis)["advice"] is None


def test_corrected_seconds_count_where_there_are_any(tmp_path: Path) -> None:
    analysis = analyze(
        open_trace(traced(tmp_path, {"main": (PYTHON._replace(seconds=3), BACKEND._replace(seconds=2))}))
    )
    corrected = Rows(
        BreakdownRow,
        (replace(row, corrected_seconds=1.0 if row.category == "python" else 2.0) for row in analysis.breakdown),
    )
    path = owner_path(analysis.processes, corrected, analysis.loops, analysis.waits, analysis.dependencies)
    advice = analysis.replaced(breakdown=corrected, path=path).advice
    assert advice is not None
    assert (advice.cause, advice.total_s) == (Bound.BACKEND, pytest.approx(3))


CATEGORIES = st.sampled_from([category for category in Category if category.name not in ("WAIT", "NO_CORE")])
OPERATIONS = st.sampled_from(["", *STAGES, "training_loop", "compile", "own", "generate", "reward"])
STREAMS = st.sampled_from([f"{verb} pipe:[{number}]" for verb in ("posix.read", "posix.write") for number in range(3)])
WAITS = st.one_of(STREAMS, st.sampled_from(["time.sleep", RAY_GET]))
LENGTHS = st.floats(0, 3)
CALLS = st.tuples(CATEGORIES, st.just("call")) | st.tuples(st.just(Category.WAIT), WAITS)
PIECES = st.builds(
    lambda seconds, operation, call, on_device: Piece(seconds, operation, call[0], call[1], on_device),
    LENGTHS, OPERATIONS, CALLS, st.booleans(),
)  # fmt: skip


@given(st.lists(st.lists(PIECES, max_size=8), min_size=1, max_size=4))
@settings(max_examples=10, deadline=None)
def test_no_change_saves_more_than_there_is(processes: list[list[Piece]]) -> None:
    """Causes share out the time of the process, whatever processes did and waited for."""
    names = ("main", "worker_0", "worker_1", "server")
    with TemporaryDirectory() as directory:
        analysis = analyze(open_trace(traced(Path(directory), dict(zip(names, processes, strict=False)))))
    advice = analysis.advice
    if advice is None:
        assert analysis.breakdown.table["seconds"].sum() == 0
        return
    rows = analysis.breakdown.table[analysis.breakdown.table["process"] == advice.process]
    in_operations = rows[rows["operation"] != "(none)"]
    outside = analysis.outside.table[analysis.outside.table["process"] == advice.process]
    between_s = outside.loc[outside["part"] == "in", "seconds"].sum()
    has_loop = len(in_operations) or between_s > 0
    counted_s = in_operations["seconds"].sum() + between_s if has_loop else rows["seconds"].sum()
    assert advice.total_s == pytest.approx(counted_s)
    assert sum(each.share for each in advice.causes) == pytest.approx(1)
    assert all(each.seconds > 0 for each in advice.causes)
    assert advice.share == max(each.share for each in advice.causes)
    for change in advice.changes:
        assert 0 <= change.saving_s <= advice.total_s
        assert change.speedup is None or change.speedup >= 1
    json.dumps(document_of(analysis), allow_nan=False)


class Exchange(NamedTuple):
    """What the pacing process did: itself, asleep, or waiting for another process, which did it meanwhile."""

    seconds: float
    stage: str
    by: str
    work: str

    def is_in(self, stage: str) -> bool:
        """Whether it goes if the stage does: its work; a wait in it, for work that is in no other stage."""
        if self.by in ("main", "nobody"):
            return self.stage == stage
        return self.work == stage or (self.stage == stage and self.work not in STAGES)


NAMED = st.sampled_from([*STAGES, "training_loop"])
WHO = st.sampled_from(["main", "nobody", "env", "server"])
EXCHANGES = st.lists(st.builds(Exchange, st.integers(1, 30).map(lambda n: n / 10), NAMED, WHO, NAMED), max_size=6)


def exchanged(directory: Path, exchanges: Sequence[Exchange]) -> Advice:
    """Of a trace in which main did so, and a second for itself, so that it paces the run."""
    pieces: dict[str, list[Piece]] = {"main": [Piece(1, "training_loop")], "env": [], "server": []}
    for seconds, stage, by, work in exchanges:
        if by == "main":
            pieces["main"].append(Piece(seconds, stage))
        elif by == "nobody":
            pieces["main"].append(wait(seconds, stage, "time.sleep"))
        else:
            pieces["main"].append(receive(seconds, stage, f"pipe:[{by}]"))
            pieces[by] += [Piece(seconds, work), send(f"pipe:[{by}]")]
    advice = advice_of(traced(directory, pieces))
    assert advice.process == "main"
    return advice


@given(EXCHANGES)
@settings(max_examples=25, deadline=None)
def test_no_change_saves_less_than_it_could(exchanges: list[Exchange]) -> None:
    """Whichever waits were for whom; and no more where all were in one stage, so that it is known."""
    with TemporaryDirectory() as directory:
        advice = exchanged(Path(directory), exchanges)
    simulating = {each.by for each in exchanges if each.work == "simulation"} - {"main", "nobody"}
    longest_s = max((sum(each.seconds for each in exchanges if each.by == by) for by in simulating), default=0.0)

    def total(goes: Callable[[Exchange], bool]) -> float:
        return sum(each.seconds for each in exchanges if goes(each))

    true = {
        "batch inference": total(lambda each: each.is_in("inference")),
        "move the simulation to the device": total(lambda each: each.is_in("simulation")),
        "step environments asynchronously": min(
            total(lambda each: each.is_in("simulation") or each.by in simulating), advice.total_s - longest_s
        ),
        "synchronise weights beside the rest": total(lambda each: each.is_in("synchronisation")),
        "compile the update": total(
            lambda each: each.by != "nobody" and (each.stage if each.by == "main" else each.work) == "backpropagation"
        ),
    }
    found = savings(advice)
    is_known = len({each.stage for each in exchanges if each.by != "main"}) < 2
    for name, seconds in true.items():
        assert found.get(name, 0.0) >= seconds - 1e-6
        if is_known:
            assert found.get(name, 0.0) == pytest.approx(seconds, abs=1e-6)


def kept(name: str) -> Advice:
    """Of a run on an H200, by the tables that were kept of it."""
    document = json.loads(next(KEPT.glob(f"*/{name}_0.json")).read_text())
    processes = rows_of(ProcessRow, document["processes"], iterations=0, threads_in_operations=1, beside_s=0.0)
    breakdown = rows_of(BreakdownRow, document["breakdown"])
    loops = loops_of(breakdown, Rows(OutsideRow))
    tables: Any = SimpleNamespace(
        processes=processes,
        breakdown=breakdown,
        purposes=Rows(PurposeRow),
        loops=loops,
        path=owner_path(processes, breakdown, loops, Rows(WaitRow), Rows(DependencyRow)),
        transitions=rows_of(TransitionRow, document["transitions"]),
        gpu_operations=rows_of(GpuOperationRow, document["gpu_operations"]),
        sample_tails=Rows(SampleTailRow),
        device_idle=Rows(DeviceIdleRow),
        lines=Rows(LineRow),
        memory_growth=Rows(MemoryGrowthRow),
        sync_points=Rows(SyncPointRow),
        call_sites=Rows(CallSiteRow),
        stragglers=Rows(StragglerRow),
        collective_kernels=Rows(CollectiveRow),
        device_ranks=Rows(DeviceRankRow),
        cores=core_use({}, breakdown),
        complete=document["complete"],
        dropped_events=document["dropped_events"],
    )
    advice = advise(tables)
    assert advice is not None
    return advice


def seconds_of(advice: Advice, cause: Bound) -> float:
    return sum(each.seconds for each in advice.causes if each.cause is cause)


def test_an_eager_update_on_a_gpu() -> None:
    """TD3 in PyTorch keeps the CPU busy with many small calls: backend, Python and launches, hardly the device."""
    eager, compiled = kept("pytorch_eager"), kept("pytorch_compiled")
    assert eager.cause is Bound.BACKEND
    assert seconds_of(eager, Bound.GPU) < 0.05 * eager.total_s
    # Of 20 us: far from what arithmetic would be worth.
    assert "5.13 s of it in backpropagation, " in eager.text and " entries of 19.6 µs;" in eager.text
    best = eager.changes[0]
    assert best.name == "compile the update"
    # What compiling it saved, once compiled, is less than the bound.
    took_s = compiled.total_s - seconds_of(compiled, Bound.COMPILATION)
    assert 0 < eager.total_s - took_s < best.saving_s


@pytest.mark.parametrize("name", ["pytorch_compiled", "jax_jit", "jax_loop"])
def test_a_short_run_of_compiled_code_is_bound_by_compiling_it(name: str) -> None:
    assert kept(name).cause is Bound.COMPILATION


def test_verbs_say_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    trace = str(traced(Path("trace"), {"main": (PYTHON, SIMULATOR._replace(seconds=4))}))
    said = "Bound by the simulator: 4 s of 5 s (80 % of the loop), in simulation"

    def shown(*arguments: str) -> str:
        return " ".join(CliRunner().invoke(analyze_verb, list(arguments), catch_exceptions=False).output.split())

    assert said in shown(trace)
    assert shown(trace, trace).count(f"trace: 1 process, 5 s {said}") == 2
    assert said not in shown(trace, "--by", "category")
    document = json.loads(CliRunner().invoke(analyze_verb, [trace, "--json"], catch_exceptions=False).output)["advice"]
    assert document["text"].startswith(said)
    assert {key: document[key] for key in ("process", "cause", "total_s", "stands_out")} == {
        "process": "main", "cause": "simulator", "total_s": 5.0, "stands_out": True,
    }  # fmt: skip
    assert document["causes"][0] == {
        "cause": "simulator", "seconds": 4.0, "share": 0.8, "stage": "simulation", "stage_s": 4.0,
    }  # fmt: skip
    assert document["changes"][0] == {
        "name": "step environments asynchronously", "stage": "simulation",
        "assumption": "nothing waited for a simulation", "saving_s": 4.0, "speedup": 5.0,
    }  # fmt: skip
