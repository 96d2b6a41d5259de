"""Programs that hang for a known cause: what is said of them while they run, and when they are gone."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from processes import until
from recording import RLSCOPE, SCRIPTS, environment, rlscope

from rlscope.monitor.beside import beside
from rlscope.monitor.hang_watch import HangWatch

Answer = dict[str, Any]


@dataclass(frozen=True)
class Hang:
    """What is to be said of a program.

    Attributes:
        cause: What the chain of waits ends in.
        chain: Of each thread of the chain its process, what it waits at, and the number of its line.
        end: The process that has ended or is stopped.
        after: The cause once all is killed, where that is another one: what only the living tell is lost then.
    """

    cause: str
    chain: tuple[tuple[str, str, int], ...]
    end: str | None = None
    after: str | None = None


HANGS = {
    "two_locks": Hang("cycle", (("main", "lock", 12), ("main", "lock", 19))),
    "dead_worker": Hang("ended", (("main", "queue", 23),), "worker"),
    "stopped_child": Hang("stopped", (("main", "socket", 23),), "worker", "cycle"),
    "full_pipe": Hang("cycle", (("main", "pipe", 11), ("process", "pipe", 11)), after="nobody"),
    "queue_empty": Hang("timer", (("main", "queue", 17), ("producer", "timer", 10))),
    "http_silent": Hang("timer", (("main", "http", 17), ("sandbox", "timer", 11))),
    "semaphore": Hang("timer", (("main", "semaphore", 16), ("holder", "timer", 9))),
    "join_blocked": Hang("nobody", (("main", "thread", 14), ("main", "event", 9))),
    "lock_after_fork": Hang("lost", (("main", "child", 25), ("process", "lock", 16))),
    "barrier": Hang("timer", (("main", "child", 19), ("part0", "barrier", 10), ("part2", "timer", 9))),
    "asyncio_future": Hang("events", (("main", "events", 15),)),
    "holder_ended": Hang("lost", (("main", "lock", 9),), after="not known"),
    "lock_twice": Hang("cycle", (("main", "lock", 7),)),
    "semaphore_of_dead": Hang("ended", (("main", "semaphore", 19),), "holder"),
    "native_code": Hang("native", (("main", "", 5),), after="not known"),
    "gloo_mismatch": Hang("timer", (("main", "processes", 24), ("rank 0", "collective", 17), ("rank 1", "timer", 18))),
    "import_lock": Hang("cycle", (("main", "thread", 40), ("main", "lock", 19), ("main", "import", 33))),
}


def why(trace: Path) -> Answer:
    run = rlscope("why", trace, "--json")
    assert (run.returncode, run.stderr) == (0, "")
    return dict(json.loads(run.stdout))


def of_chain(answer: Answer) -> tuple[tuple[str, str, int], ...]:
    rows = {(row["process"], row["thread"]): row for row in answer["threads"]}
    found = [rows[link["process"], link["thread"]] for link in answer["chain"]]
    return tuple((row["process"], row["awaits"], line_of(row)) for row in found)


def line_of(row: Answer) -> int:
    """The number of the line, 0 where none was seen."""
    return int(row["line"].split()[0].split(":")[1]) if row["line"] else 0


@contextmanager
def recorded(trace: Path, program: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Record a program that does not end, and end all of its processes at last, by SIGKILL."""
    with subprocess.Popen(
        [*RLSCOPE, "record", "-o", trace, "--", sys.executable, program], env=environment(), start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as run:  # fmt: skip
        try:
            yield run
        finally:
            kill(trace)
            with suppress(subprocess.TimeoutExpired):
                run.wait(20)
            with suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)


def kill(trace: Path) -> None:
    """Kill all processes at once: none sees that another one ends."""
    processes = {int(path.name.partition("-")[0]) for path in trace.glob("*.rlscope")}
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in processes:
            with suppress(ProcessLookupError):
                os.kill(pid, number)


def answer_when(trace: Path, is_so: Any) -> Answer:
    """Ask until the answer is so."""
    answers: list[Answer] = []

    def is_given() -> bool:
        if not list(trace.glob("*.rlscope")):
            return False
        answers.append(why(trace))
        return bool(is_so(answers[-1]))

    until(is_given)
    return answers[-1]


@pytest.fixture(scope="module")
def hanging(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[dict[str, tuple[Path, subprocess.Popen[bytes]]]]":
    """The traces of all programs that hang, which are started at once: one after the other that takes minutes."""
    with ExitStack() as running:
        traces = {name: tmp_path_factory.mktemp(name) / "trace" for name in HANGS}
        yield {
            name: (trace, running.enter_context(recorded(trace, SCRIPTS / "hangs" / f"{name}.py")))
            for name, trace in traces.items()
        }


@pytest.mark.parametrize("name", HANGS)
def test_a_hang_has_a_cause(name: str, hanging: "dict[str, tuple[Path, subprocess.Popen[bytes]]]") -> None:
    expected, (trace, run) = HANGS[name], hanging[name]
    answer = answer_when(trace, lambda found: found["stuck_s"] > 6 and len(found["chain"]) == len(expected.chain))
    assert (answer["running"], answer["cause"], answer["end"]) == (True, expected.cause, expected.end)
    assert of_chain(answer) == expected.chain
    kill(trace)
    run.wait(60)
    after = why(trace)
    assert (after["running"], after["cause"]) == (False, expected.after or expected.cause)
    assert after["stuck"] == (after["cause"] != "not known")
    assert of_chain(after)[0] == expected.chain[0]


@pytest.mark.parametrize(
    ("name", "cause", "chain"),
    [
        ("computing_worker", "busy", ["main", "worker"]),
        ("lock_for_a_while", "busy", ["main", "main"]),
        ("napping", "timer", ["main"]),
    ],
)
def test_who_goes_on_is_not_stuck(name: str, cause: str, chain: list[str], tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    with recorded(trace, SCRIPTS / "going_on" / f"{name}.py"):
        longest = answer_when(trace, lambda found: found["cause"] == cause and len(found["chain"]) == len(chain))
        start_s = time.monotonic()
        while time.monotonic() < start_s + 8:  # longer than what is not certain must last
            longest = why(trace)
            assert (longest["stuck"], longest["cause"], longest["end"]) == (False, cause, None)
            assert [link["process"] for link in longest["chain"]] == chain
    after = why(trace)
    assert (after["running"], after["stuck"]) == (False, False)


def test_a_process_of_the_run_may_be_given(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    with recorded(trace, SCRIPTS / "hangs" / "dead_worker.py"):
        answer = answer_when(trace, lambda found: found["stuck"])
        asked = rlscope("why", answer["threads"][0]["pid"], "--json")
        assert json.loads(asked.stdout)["chain"] == answer["chain"]
    no_such = rlscope("why", os.getpid())
    assert (no_such.returncode, no_such.stdout) == (2, "")


def test_how_a_process_ended_is_known(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    with recorded(trace, SCRIPTS / "hangs" / "dead_worker.py"):
        answer = answer_when(trace, lambda found: found["stuck"])
        (worker,) = (row for row in answer["processes"] if row["process"] == "worker")
        assert (worker["life"], worker["is_zombie"], worker["exit_status"]) == ("ended", True, -signal.SIGKILL)
        (main,) = (row for row in answer["processes"] if row["process"] == "main")
        assert (main["life"], main["is_zombie"], main["exit_status"]) == ("running", False, None)
        assert [(row["on"], row["function"]) for row in answer["threads"] if row["is_main"]] == [
            ("worker", "posix.read")
        ]


def test_the_analysis_of_a_hang_has_it_apart(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    with recorded(trace, SCRIPTS / "hangs" / "dead_worker.py"):
        answer_when(trace, lambda found: found["stuck"] and found["stuck_s"] > 2)
    run = rlscope("analyze", trace, "--json")
    found = json.loads(run.stdout)
    assert (found["hang"]["cause"], found["hang"]["processes"], found["hang"]["end"]) == ("ended", ["main"], "worker")
    assert found["findings"] == []
    (stuck,) = (row for row in found["account"] if row["cause"] == "stuck")
    assert stuck["seconds"] > 2
    assert stuck["seconds"] == pytest.approx(found["hang"]["seconds"], abs=0.1)
    (main,) = (row for row in found["processes"] if row["process"] == "main")
    assert sum(row["seconds"] for row in found["account"]) == pytest.approx(main["wall_s"], rel=1e-6)


def test_a_run_that_ended_in_order_was_not_stuck(tmp_path: Path) -> None:
    rlscope("record", "-o", tmp_path / "trace", "--", sys.executable, "-c", "import time; time.sleep(6)")
    assert json.loads(rlscope("analyze", tmp_path / "trace", "--json").stdout)["hang"] is None
    answer = why(tmp_path / "trace")
    assert (answer["running"], answer["stuck"], answer["chain"], answer["threads"]) == (False, False, [], [])


def test_top_says_that_a_run_is_stuck(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    with recorded(trace, SCRIPTS / "hangs" / "semaphore.py"):
        answer = answer_when(trace, lambda found: found["stuck"] and found["stuck_s"] > 7)  # `top` ends 1.5 s ago
        view = json.loads(rlscope("top", trace, "--once", "--json").stdout)
        assert view["stuck"] == answer["sentence"]


def test_a_recording_notices_by_itself(tmp_path: Path) -> None:
    said: list[str] = []
    trace = tmp_path / "trace"
    with recorded(trace, SCRIPTS / "hangs" / "dead_worker.py") as run:
        answer = answer_when(trace, lambda found: found["stuck"])
        watch = HangWatch(trace, said.append, quiet_s=3)
        watch.run()  # until it has said it
        assert answer["sentence"] in said[0]
        assert run.poll() is None


@pytest.mark.parametrize(
    ("name", "cause"), [("computing_worker", "busy"), ("asks_a_person", "nobody"), ("sleeps_as_it_is_to", "timer")]
)
def test_a_recording_says_nothing_of_a_run_that_goes_on(name: str, cause: str, tmp_path: Path) -> None:
    said: list[str] = []
    trace = tmp_path / "trace"
    with recorded(trace, SCRIPTS / "going_on" / f"{name}.py"):
        answer_when(trace, lambda found: found["cause"] == cause)
        with beside(HangWatch(trace, said.append, quiet_s=2)) as watch:
            time.sleep(8)
        assert (said, watch.error) == ([], None)
