"""What paces a run, and what was done while that waited: constructed traces with known answers."""

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pieces import Piece, bounds, path_of, send, traced
from rows_of import rows_of

from benchmarks.trace_writer import TraceWriter
from rlscope.analysis.account.kinds import Bound
from rlscope.analysis.account.owner_path import OwnerPath, owner_path
from rlscope.analysis.analysis import analyze
from rlscope.analysis.rows import Rows
from rlscope.analysis.table_rows import BreakdownRow, DependencyRow, OutsideRow, ProcessRow, WaitRow
from rlscope.analysis.tables.loop import loops_of
from rlscope.model import IMPORT, STAGES, Category
from rlscope.trace.reader import open_trace

KEPT = Path(__file__).parents[2] / "experiments" / "RL_framework_comparison" / "measured"
S = 1_000_000_000


def wait(seconds: float, operation: str, name: str) -> Piece:
    return Piece(seconds, operation, Category.WAIT, name)


def receive(seconds: float, operation: str, stream: str) -> Piece:
    return wait(seconds, operation, f"posix.read {stream}")


@pytest.fixture
def path_on(tmp_path: Path) -> Callable[..., OwnerPath]:
    def of(*pieces: Piece, **others: Sequence[Piece]) -> OwnerPath:
        return path_of(traced(tmp_path, {"main": pieces, **others}))

    return of


def followed(path: OwnerPath) -> list[tuple[tuple[str, ...], float, float]]:
    """Whom it waited for, for how long, and how long their mean work is."""
    return [(group.names, round(group.wait_s, 6), round(group.mean_s, 6)) for group in path.followed]


def unfollowed(path: OwnerPath) -> dict[str, float]:
    """Seconds of waits that are for nobody whose work is known, by function."""
    return {wait.function: round(wait.seconds, 6) for wait in path.unfollowed}


SIMULATOR = Piece(1, "simulation", Category.SIMULATOR)
PYTHON = Piece(1, "inference")
BACKEND = Piece(1, "backpropagation", Category.BACKEND)
LAUNCH = Piece(1, "backpropagation", Category.CUDA)
OVERLAP = Piece(1, "backpropagation", Category.BACKEND, on_device=True)
GPU = Piece(1, "backpropagation", Category.CUDA_WAIT, on_device=True)
SLEEP = Piece(1, "simulation", Category.WAIT, "time.sleep")
COMPILE = Piece(1, "compile", Category.BACKEND)
IMPORTED = Piece(1, IMPORT, stage="inference")
NO_CORE = Piece(1, "simulation", Category.NO_CORE)
EACH = {
    Bound.SIMULATOR: SIMULATOR, Bound.PYTHON: PYTHON, Bound.BACKEND: BACKEND, Bound.LAUNCHES: LAUNCH,
    Bound.OVERLAP: OVERLAP, Bound.GPU: GPU, Bound.WAITING: SLEEP, Bound.COMPILATION: COMPILE, Bound.IMPORT: IMPORTED,
    Bound.NO_CORE: NO_CORE,
}  # fmt: skip
RAY_GET = "ray._raylet.CoreWorker.get_objects"


def test_each_second_is_bound_by_one_thing(path_on: Callable[..., OwnerPath]) -> None:
    path = path_on(*(piece._replace(seconds=number) for number, piece in enumerate(EACH.values(), start=1)))
    assert bounds(path) == {bound.value: number for number, bound in enumerate(EACH, start=1)}
    assert (path.process, path.total_s) == ("main", pytest.approx(55))


def test_waiting_for_a_device_that_is_idle_is_a_cuda_call(path_on: Callable[..., OwnerPath]) -> None:
    assert bounds(path_on(Piece(2, "backpropagation", Category.CUDA_WAIT))) == {"launches": 2}


def test_a_device_at_work_in_a_wait_bounds_it(path_on: Callable[..., OwnerPath]) -> None:
    assert bounds(path_on(SLEEP._replace(seconds=2, on_device=True), PYTHON)) == {"gpu": 2, "python": 1}


def test_a_lock_step(path_on: Callable[..., OwnerPath]) -> None:
    """Two workers step for 4 and 6 s; the learner waits 8 s for them and works 2 s."""
    path = path_on(
        receive(6, "simulation", "pipe:[0]"), receive(2, "simulation", "pipe:[1]"), Piece(2, "backpropagation"),
        worker_0=(Piece(3), Piece(4, "simulation", Category.SIMULATOR), receive(3, "", "pipe:[9]"), send("pipe:[0]")),
        worker_1=(Piece(2), Piece(6, "simulation", Category.SIMULATOR), receive(2, "", "pipe:[9]"), send("pipe:[1]")),
    )  # fmt: skip
    assert bounds(path) == {"simulator": 5, "waiting": 3, "python": 2}
    (group,) = path.followed
    assert (group.names, group.wait_s, group.spread_s) == (("worker_0", "worker_1"), *map(pytest.approx, (8, 3)))
    assert [work.total_s for work in group.works] == [pytest.approx(4), pytest.approx(6)]


def test_waiting_before_the_loop_does_not_count(path_on: Callable[..., OwnerPath]) -> None:
    """Half of the waiting for the worker is for its start."""
    path = path_on(
        receive(4, "", "pipe:[0]"), receive(4, "simulation", "pipe:[0]"), Piece(2, "backpropagation"),
        worker=(Piece(4), SIMULATOR._replace(seconds=4), send("pipe:[0]")),
    )  # fmt: skip
    assert bounds(path) == {"simulator": 4, "python": 2}
    assert [*path.time.left_out.values()] == [pytest.approx(4)]


def test_all_waiting_in_a_phase_counts(tmp_path: Path) -> None:
    """In no operation, as of a process that receives what it trains on."""
    processes = {
        "training": (receive(6, "", "pipe:[0]"), Piece(4, "backpropagation")),
        "self_play": (Piece(5, "inference", Category.BACKEND), Piece(1), send("pipe:[0]")),
    }
    path = path_of(traced(tmp_path, processes, phase="generation"))
    assert (path.process, path.total_s) == ("training", pytest.approx(10))
    assert bounds(path) == {"backend": 5, "python": 5}


def test_what_a_worker_waits_outside_operations_is_not_its_work(path_on: Callable[..., OwnerPath]) -> None:
    """It sleeps in a step, and waits for the learner's next action outside of it."""
    path = path_on(
        receive(5, "simulation", "pipe:[0]"), Piece(5, "backpropagation"),
        worker=(receive(6, "", "pipe:[9]"), SLEEP._replace(seconds=4), send("pipe:[0]")),
    )  # fmt: skip
    assert followed(path) == [(("worker",), 5, 4)]
    assert path.followed[0].spread_s == pytest.approx(1)


def test_waits_are_followed_to_the_end(path_on: Callable[..., OwnerPath]) -> None:
    """The trainer waits for an actor, which waits for a server, which waits for the actor."""
    path = path_on(
        Piece(2, "backpropagation"), receive(8, "training_loop", "pipe:[0]"),
        actor=(Piece(2, "simulation"), receive(6, "inference", "pipe:[1]"), send("pipe:[0]"), send("pipe:[2]")),
        server=(
            Piece(5.5, "inference", Category.BACKEND), Piece(0.5, "inference"), receive(2, "inference", "pipe:[2]"),
            send("pipe:[1]"),
        ),
    )  # fmt: skip
    assert path.process == "main"
    assert bounds(path) == {"backend": 5.5, "python": 4.5}


def test_the_process_with_most_time_in_operations_paces_the_run(path_on: Callable[..., OwnerPath]) -> None:
    path = path_on(Piece(20), PYTHON, self_play=(Piece(5, "simulation"),))
    assert (path.process, path.total_s) == ("self_play", pytest.approx(5))


def test_processes_of_the_machinery_pace_nothing(tmp_path: Path) -> None:
    trace = traced(
        tmp_path, {"main": (Piece(2, "inference"),), "server": (Piece(9, "inference"),)}, {"server": "infrastructure"}
    )
    assert path_of(trace).process == "main"


def test_waits_without_another_end_are_assumed_to_be_for_those_that_worked(path_on: Callable[..., OwnerPath]) -> None:
    path = path_on(
        wait(8, "training_loop", RAY_GET), Piece(2, "backpropagation"),
        runner_1=(SIMULATOR._replace(seconds=7), wait(3, "training_loop", RAY_GET)),
        runner_2=(SIMULATOR._replace(seconds=7),),
        bystander=(Piece(50),),
    )  # fmt: skip
    assert bounds(path) == {"simulator": 7, "waiting": 1, "python": 2}
    assert followed(path) == [(("runner_1", "runner_2"), 8, 7)]
    assert path.followed[0].assumed_s == pytest.approx(8) and path.unfollowed == ()


def test_a_handshake_before_the_training_says_nothing_of_other_waits(path_on: Callable[..., OwnerPath]) -> None:
    path = path_on(
        receive(1, "", "pipe:[0]"), wait(8, "training_loop", RAY_GET), Piece(2, "backpropagation"),
        helper=(Piece(0.5, "own"), send("pipe:[0]")),
        runner=(SIMULATOR._replace(seconds=7.5),),
    )  # fmt: skip
    # Shared by how much work each had.
    assert followed(path) == [(("runner",), 7.5, 7.5), (("helper",), 0.5, 0.5)]


def test_a_worker_without_operations_is_followed(path_on: Callable[..., OwnerPath]) -> None:
    path = path_on(
        receive(8, "simulation", "pipe:[0]"), Piece(2, "backpropagation"),
        worker_0=(Piece(8, "", Category.SIMULATOR, "step"), send("pipe:[0]")),
    )  # fmt: skip
    assert (path.process, followed(path)) == ("main", [(("worker_0",), 8, 8)])
    assert bounds(path) == {"simulator": 8, "python": 2}


def test_waits_without_another_end_are_for_processes_with_operations(path_on: Callable[..., OwnerPath]) -> None:
    """A pipe from a process without any says less of who `ray.get` is for."""
    path = path_on(
        wait(8, "training_loop", RAY_GET), receive(2, "training_loop", "pipe:[0]"),
        helper=(Piece(2), send("pipe:[0]")),
        runner=(SIMULATOR._replace(seconds=8),),
    )  # fmt: skip
    assert followed(path) == [(("runner",), 8, 8), (("helper",), 2, 2)]


def test_waits_without_another_end_are_for_who_else_was_waited_for_if_no_other_has_operations(
    path_on: Callable[..., OwnerPath],
) -> None:
    path = path_on(
        wait(6, "simulation", "select.poll.poll"), receive(2, "simulation", "pipe:[0]"),
        worker=(Piece(8, "", Category.SIMULATOR, "step"), send("pipe:[0]")),
    )  # fmt: skip
    assert (path.process, followed(path)) == ("main", [(("worker",), 8, 8)])


def test_who_writes_to_a_pipe_waits_for_who_reads_from_it(path_on: Callable[..., OwnerPath]) -> None:
    path = path_on(
        wait(4, "simulation", "posix.write pipe:[7]"), Piece(4, "backpropagation"),
        worker=(Piece(3.5, "simulation"), Piece(0, "", Category.WAIT, "posix.read pipe:[7]")),
    )  # fmt: skip
    assert (followed(path), path.unfollowed) == ([(("worker",), 4, 3.5)], ())


def test_who_waits_for_a_full_queue_does_not_pace(path_on: Callable[..., OwnerPath]) -> None:
    """An actor beside a learner that takes longer: the queue between them is full, its other end not recorded."""
    full = wait(0.7, "", "_multiprocessing.SemLock.acquire")
    path = path_on(
        *(Piece(0.9, "backpropagation"), Piece(0.1)) * 10,
        actor=(Piece(0.2, "inference"), Piece(0.1, "simulation"), full) * 10,
    )
    assert path.process == "main"


def test_a_chain_of_processes_may_be_longer_than_calls_can_be_nested(path_on: Callable[..., OwnerPath]) -> None:
    # None of them does what another does.
    names = ["".join(letters) for letters in itertools.product("abcdefgh", repeat=3)][:200]
    chain = {
        name: (receive(4, "simulation", f"pipe:[{place}]"), send(f"pipe:[{place - 1}]"))
        for place, name in enumerate(names, start=1)
    }
    last = {"simulator": (SIMULATOR._replace(seconds=3), send(f"pipe:[{len(names)}]"))}
    path = path_on(receive(4, "inference", "pipe:[0]"), **chain, **last)
    assert bounds(path) == {"simulator": 3, "waiting": 1}


@pytest.mark.parametrize(
    ("names", "is_same"),
    [
        (("env-2 (42)", "env-4 (44)"), True),
        (("env", "env_1-2 (34) #5"), True),
        (("env1", "env 20(3)"), True),
        (("env-1-ppo", "env-2-ppo"), False),
        # A time with a fraction: to try each way to split it would take longer than anyone waits.
        ((f"env-{'1234567890' * 8}-ppo", f"env-{'1234567890' * 8}1-ppo"), False),
    ],
)
def test_processes_that_differ_in_numbers_at_the_end_of_their_names_are_a_group(
    path_on: Callable[..., OwnerPath], names: tuple[str, str], is_same: bool
) -> None:
    path = path_on(wait(8, "training_loop", RAY_GET), **dict.fromkeys(names, (SIMULATOR,)))
    assert (len(path.followed) == 1) == is_same


def test_processes_that_lived_one_after_the_other_are_rounds(tmp_path: Path) -> None:
    """Four workers of a second, two at a time: each wait is for the work of one of two rounds."""
    writer = TraceWriter(tmp_path)
    main = writer.process(pid=1, name="main")
    thread = main.thread()
    for number in range(4):
        start = number // 2 * 2 * S
        name = f"posix.read pipe:[{number}]"
        thread.begin_operation(start + number % 2 * S, "simulation")
        thread.boundary(start + number % 2 * S, start + (number % 2 + 1) * S, Category.WAIT, name)
        thread.end(start + (number % 2 + 1) * S)
        worker = writer.process(pid=2 + number, name=f"worker-{number}", start_ticks=start)
        own = worker.thread()
        own.boundary(start, start + S, Category.SIMULATOR, "step")
        own.boundary(start + S, start + S, Category.WAIT, f"posix.write pipe:[{number}]")
        worker.stop(start + S)
    main.stop(4 * S)
    (group,) = path_of(writer.write_complete()).followed
    assert (group.rounds, group.worked_s, group.spread_s) == (2, pytest.approx(2), pytest.approx(2))


def test_processes_that_are_slow_to_start_are_one_set(tmp_path: Path) -> None:
    """The last of four workers starts a second before all end: they lived for 4, 3, 2 and 1 s."""
    writer = TraceWriter(tmp_path)
    main = writer.process(pid=1, name="main")
    thread = main.thread()
    thread.begin_operation(0, "simulation")
    for number in range(4):
        thread.boundary(number * S, (number + 1) * S, Category.WAIT, f"posix.read pipe:[{number}]")
        worker = writer.process(pid=2 + number, name=f"worker-{number}", start_ticks=number * S)
        own = worker.thread()
        own.boundary(number * S, 4 * S, Category.SIMULATOR, "step")
        own.boundary(4 * S, 4 * S, Category.WAIT, f"posix.write pipe:[{number}]")
        worker.stop(4 * S)
    thread.end(4 * S)
    main.stop(4 * S)
    (group,) = path_of(writer.write_complete()).followed
    assert group.rounds == 1


@pytest.mark.parametrize(("at_a_time", "paces"), [(4, "worker-0"), (2, "main")])
def test_who_starts_workers_anew_paces_a_run_in_their_place(at_a_time: int, paces: str, tmp_path: Path) -> None:
    """Main has no operation of its own; of four workers each simulates for a second, all at once or two at a time."""
    writer = TraceWriter(tmp_path)
    main = writer.process(pid=1, name="main")
    main.thread().boundary(0, 4 * S, Category.WAIT, "_thread.lock.acquire")
    reader = main.thread()
    for number in range(4):
        start = number // at_a_time * S
        worker = writer.process(pid=2 + number, parent_pid=1, name=f"worker-{number}", start_ticks=start)
        own = worker.thread()
        own.begin_operation(start, "simulation")
        own.end(start + S)
        own.boundary(start + S, start + S, Category.WAIT, f"posix.write pipe:[{number}]")
        worker.stop(start + S)
        reader.boundary(number * S, number * S + S, Category.WAIT, f"posix.read pipe:[{number}]")
    main.stop(4 * S)
    path = path_of(writer.write_complete())
    assert path.process == paces
    # A lock that main waits for is its own thread's, which reads what workers send.
    assert [(len(group.names), round(group.wait_s), group.rounds) for group in path.followed] == (
        [(4, 4, 2)] if paces == "main" else []
    )


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        ("time.sleep", "timer"),
        ("posix.fsync", "disk"),
        ("_thread.LockType.acquire", "lock"),
        ("_queue.SimpleQueue.get", "lock"),
    ],
)
def test_waits_in_which_no_process_has_a_part_stay(path_on: Callable[..., OwnerPath], function: str, kind: str) -> None:
    path = path_on(wait(8, "training_loop", function), Piece(2, "backpropagation"), runner=(SIMULATOR,))
    assert bounds(path) == {"waiting": 8, "python": 2}
    assert [(each.function, each.kind, each.seconds) for each in path.unfollowed] == [
        (function, kind, pytest.approx(8))
    ]


def test_without_operations_all_time_counts(path_on: Callable[..., OwnerPath]) -> None:
    path = path_on(Piece(3), Piece(2, "", Category.BACKEND))
    assert (path.time.has_loop, bounds(path)) == (False, {"python": 3, "backend": 2})


def test_no_path_without_time(tmp_path: Path) -> None:
    assert analyze(open_trace(traced(tmp_path, {"main": ()}))).path is None


def test_corrected_seconds_count_where_there_are_any(tmp_path: Path) -> None:
    analysis = analyze(
        open_trace(traced(tmp_path, {"main": (PYTHON._replace(seconds=3), BACKEND._replace(seconds=2))}))
    )
    corrected = Rows(
        BreakdownRow,
        (replace(row, corrected_seconds=1.0 if row.category == "python" else 2.0) for row in analysis.breakdown),
    )
    path = owner_path(analysis.processes, corrected, analysis.loops, analysis.waits, analysis.dependencies)
    assert path is not None and bounds(path) == {"python": 1, "backend": 2}


#: 100 iterations in 40 s: 4 s of simulation, 6 s of backpropagation, and 30 s of sleep between them.
ITERATION = (Piece(0.04, "simulation"), wait(0.3, "", "time.sleep"), Piece(0.06, "backpropagation"))


def test_all_of_the_loop_counts_from_its_first_stage_to_its_last(path_on: Callable[..., OwnerPath]) -> None:
    path = path_on(Piece(5), *ITERATION * 100, Piece(2))
    assert (path.total_s, bounds(path)) == (pytest.approx(40), {"waiting": 30, "python": 10})
    assert unfollowed(path) == {"time.sleep": 30}
    assert sorted(path.time.left_out.values()) == [pytest.approx(2), pytest.approx(5)]


def test_the_loop_reaches_to_the_last_report(tmp_path: Path) -> None:
    """Also the iteration before the first report, and what lies between the last stage and the last report."""
    process = (writer := TraceWriter(tmp_path)).process(pid=1)
    thread = process.thread()
    thread.operation(9 * S, 10 * S, "simulation")
    for number, report in enumerate((12, 15), start=1):
        thread.boundary((10 if number == 1 else 12) * S, report * S, Category.WAIT, "time.sleep")
        thread.progress(report * S, number, 1000)
    process.stop(17 * S)
    path = path_of(writer.write_complete())
    assert bounds(path) == {"waiting": 5, "python": 1}


def test_a_training_loop_of_a_library_is_not_stretched_by_what_is_called_outside(
    path_on: Callable[..., OwnerPath],
) -> None:
    """An environment that is checked before, and an evaluation after it."""
    path = path_on(Piece(1, "simulation"), Piece(8), Piece(10, "training_loop"), Piece(5), Piece(1, "inference"))
    assert path.total_s == pytest.approx(12)


def test_phases_alone_do_not_say_where_the_loop_is(tmp_path: Path) -> None:
    process = (writer := TraceWriter(tmp_path)).process(pid=1)
    thread = process.thread()
    for start in (0, 6):
        thread.phase(start * S, (start + 4) * S, "collect")
    process.stop(10 * S)
    path = path_of(writer.write_complete())
    assert (path.total_s, [*path.time.left_out.values()]) == (pytest.approx(8), [pytest.approx(2)])


def test_the_process_that_reports_progress_paces_the_run(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    main, worker = writer.process(pid=1, name="main"), writer.process(pid=2, name="worker")
    thread = main.thread()
    thread.operation(0, 10 * S, "backpropagation")
    thread.progress(10 * S, 1, 1000)
    worker.thread().operation(0, 12 * S, "simulation")
    main.stop(10 * S)
    worker.stop(12 * S)
    assert path_of(writer.write_complete()).process == "main"


@pytest.mark.parametrize(("waits", "beside_s"), [(False, 8), (True, 0)])
def test_a_second_in_which_two_threads_were_busy_is_counted(waits: bool, beside_s: float, tmp_path: Path) -> None:
    """Each for 8 s; or each waits for the other one in its half."""
    process = (writer := TraceWriter(tmp_path)).process(pid=1)
    for first, operation in enumerate(("backpropagation", "simulation")):
        thread = process.thread()
        thread.begin_operation(0, operation)
        if waits:
            thread.boundary(first * 4 * S, (first * 4 + 4) * S, Category.WAIT, "_thread.lock.acquire")
        thread.end(8 * S)
    process.stop(8 * S)
    assert path_of(writer.write_complete()).beside_s == pytest.approx(beside_s)


def kept(name: str) -> OwnerPath:
    """Of a run on an H200, by the tables that were kept of it."""
    document = json.loads(next(KEPT.glob(f"*/{name}_0.json")).read_text())
    processes = rows_of(ProcessRow, document["processes"], iterations=0, threads_in_operations=1, beside_s=0.0)
    breakdown = rows_of(BreakdownRow, document["breakdown"])
    loops = loops_of(breakdown, Rows(OutsideRow))
    path = owner_path(processes, breakdown, loops, Rows(WaitRow), Rows(DependencyRow))
    assert path is not None
    return path


def test_an_eager_update_on_a_gpu() -> None:
    """TD3 in PyTorch keeps the CPU busy with many small calls: backend, Python and launches, hardly the device."""
    seconds = bounds(eager := kept("pytorch_eager"))
    assert max(seconds, key=lambda bound: seconds[bound]) == "backend"
    assert seconds["gpu"] < 0.05 * eager.total_s


@pytest.mark.parametrize("name", ["pytorch_compiled", "jax_jit", "jax_loop"])
def test_a_short_run_of_compiled_code_is_bound_by_compiling_it(name: str) -> None:
    seconds = bounds(kept(name))
    assert max(seconds, key=lambda bound: seconds[bound]) == "compilation"


CATEGORIES = st.sampled_from([category for category in Category if category.name not in ("WAIT", "NO_CORE")])
OPERATIONS = st.sampled_from(["", *STAGES, "training_loop", "compile", "own", "generate", "reward"])
STREAMS = st.sampled_from([f"{verb} pipe:[{number}]" for verb in ("posix.read", "posix.write") for number in range(3)])
WAITS = st.one_of(STREAMS, st.sampled_from(["time.sleep", RAY_GET]))
CALLS = st.tuples(CATEGORIES, st.just("call")) | st.tuples(st.just(Category.WAIT), WAITS)
PIECES = st.builds(
    lambda seconds, operation, call, on_device: Piece(seconds, operation, call[0], call[1], on_device),
    st.floats(0, 3), OPERATIONS, CALLS, st.booleans(),
)  # fmt: skip


@given(st.lists(st.lists(PIECES, max_size=8), min_size=1, max_size=4))
@settings(max_examples=10, deadline=None)
def test_a_path_is_as_long_as_the_loop_of_its_process(processes: list[list[Piece]]) -> None:
    """Whatever processes did and waited for."""
    names = ("main", "worker_0", "worker_1", "server")
    with TemporaryDirectory() as directory:
        analysis = analyze(open_trace(traced(Path(directory), dict(zip(names, processes, strict=False)))))
    path = analysis.path
    if path is None:
        assert sum(row.seconds for row in analysis.breakdown) == 0
        return
    rows = [row for row in analysis.breakdown if row.process == path.process]
    in_operations = [row.seconds for row in rows if row.operation != "(none)"]
    between_s = sum(row.seconds for row in analysis.outside if row.process == path.process and row.part == "in")
    has_loop = bool(in_operations) or between_s > 0
    counted_s = sum(in_operations) + between_s if has_loop else sum(row.seconds for row in rows)
    assert path.total_s == pytest.approx(counted_s)
    assert all(seconds >= 0 for seconds in path.mix.values())
