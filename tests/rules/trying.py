"""Measures whether `rlscope try` says what an edit brings: on faults of this folder, and the same on both sides.

For each case: `rlscope try` of the program with the fault, then `rlscope bench` of it and of the edited program in
turns. Without a change on either side: trials of hosts, of which the interval should hold 1. Each result is a line of
OUT/results.jsonl as soon as it is there; OUT/summary.json counts them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import queue
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rules.recording import end_in_time, written

ROOT = Path(__file__).resolve().parents[2]
#: In turns of processes that share nothing, each has cores of its own.
CORES = 2
#: What a trial may take, and how often an edit is measured.
TRY_MINUTES, SAME_MINUTES, RUNS = 1.1, 0.75, 4
#: The name of the change that alters nothing where there is no device.
NOTHING = "cpu"
#: As documents call the clock.
WALL = "wall time"
#: Programs say how long the training took, by both clocks.
STOPWATCH = "began = time.perf_counter()"
STOPPED = 'print(f"seconds {time.perf_counter() - began:.3f}")'


class Case(NamedTuple):
    """A program, what is tried on it, and the same edited.

    Attributes:
        program: A host or a fault.
        changes: What is tried; the first is what the edit does.
        prepared: Replacements that are made before all.
        edit: Replacements that make the first change for good.
        variables: It runs with these.
        edited_variables: The edited one with these beside.
    """

    program: str
    changes: tuple[str, ...]
    prepared: tuple[tuple[str, str], ...] = ()
    edit: tuple[tuple[str, str], ...] = ()
    variables: Mapping[str, str] = {}
    edited_variables: Mapping[str, str] = {}


THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
#: Other start methods import the program again in each process, which takes long.
_IN_PROCESSES = ', vec_env_cls=SubprocVecEnv, vec_env_kwargs=dict(start_method="fork")'
_PICTURES = ', render_mode="rgb_array"'
_FUSED = ("lr=1e-3)", "lr=1e-3, fused=True)")
CASES = (
    Case("RLS401_ppo_single_file", ("one-process", "fused"), edit=(("AsyncVectorEnv", "SyncVectorEnv"),)),
    Case(
        "RLS401_sb3_ppo", ("one-process",),
        prepared=((", vec_env_cls=SubprocVecEnv", _IN_PROCESSES),),
        edit=((_IN_PROCESSES, ""),),
    ),
    Case("RLS402_vector_walkers", ("processes",), edit=(("SyncVectorEnv", "AsyncVectorEnv"),)),
    Case(
        "RLS301_sb3_ppo", ("no-evaluation",),
        edit=((', callback=EvalCallback(make_vec_env("CartPole-v1"), eval_freq=64, verbose=0)', ""),),
    ),
    Case(
        "RLS301_sb3_sac", ("no-evaluation", "fused"),
        edit=((', callback=EvalCallback(gym.make("Pendulum-v1"), eval_freq=50, n_eval_episodes=3, verbose=0)', ""),),
    ),
    Case(
        "RLS305_actor_critic", ("no-rendering", "fused"),
        edit=(("            env.render()\n", ""), (_PICTURES, "")),
    ),
    Case(
        "RLS305_sb3_sac", ("no-rendering",),
        edit=(("        self.frame = self.env.render()\n", ""), (_PICTURES, "")),
    ),
    Case(
        "RLS304_dqn_demonstrations", ("no-logging", "fused"),
        edit=(('logging.basicConfig(filename="train.log", level=logging.INFO)', "logging.disable(logging.CRITICAL)"),),
    ),
    Case(
        "RLS304_sb3_ppo", ("no-logging", "fused"),
        edit=(("        self.logger.dump(self.num_timesteps)\n", ""),),
    ),
    Case(
        "RLS411_cloning", ("loader-workers", "fused"),
        prepared=(("range(20)", "range(2)"),),
        edit=(("num_workers=0", "num_workers=1, persistent_workers=True"),),
    ),
    Case("RLS505_dqn_demonstrations", ("fused",), edit=(_FUSED, ("foreach=False", "fused=True"))),
    Case(
        "recurrent", ("threads", "fused"),
        variables=dict.fromkeys(THREADS, "4"),
        edited_variables=dict.fromkeys(THREADS, "1"),
    ),
    Case("trading", ("fused",), edit=(_FUSED,)),
    Case("actor_learner", ("fused",), edit=(_FUSED,)),
)  # fmt: skip
#: So many cases come before all else.
FIRST = 12
#: Hosts that run twice, once by each clock, with nothing changed.
SAME = (
    "trading", "recurrent", "ppo_single_file", "dqn_demonstrations", "actor_critic", "vector_walkers", "cloning",
    "actor_learner", "sb3_ppo", "sb3_sac",
)  # fmt: skip
#: Has files of modules read once before they are read at the same time, and says whether trials can be kept from harm.
FIRST_PROGRAM = """
import importlib
from pathlib import Path
from rlscope.trial.isolation.isolation import Isolation
for name in ("torch", "gymnasium", "mujoco", "pandas", "pygame", "stable_baselines3", "matplotlib.pyplot"):
    try:
        importlib.import_module(name)
    except ImportError as error:
        print(name, error)
with Isolation(Path.cwd()) as isolation:
    print("isolation", isolation.kind)
"""
#: Takes turns with a change that alters nothing, and prints both factors.
SAME_PROGRAM = """
import json, sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from rlscope.bench.one_run import EndedError
from rlscope.signals import held_signals
from rlscope.trial.change import Change
from rlscope.trial.one_trial import UNKNOWN, Command, run_trial
from rlscope.trial.turns import Turns
change, is_wall, minutes, in_place, *words = sys.argv[1:]
with held_signals() as mask:
    command = Command(tuple(words), Path.cwd(), False, in_place == "1", mask)
    first = run_trial(command, (), UNKNOWN)
    if first.failure:
        sys.exit(first.failure)
    same = Change(change)
    same.is_of_wall = is_wall == "1"
    outcomes = []
    def run(changes):
        outcome = run_trial(command, changes, first.part)
        outcomes.append((len(changes), outcome.processor_ns, outcome.wall_ns))
        return outcome
    turns = Turns(run, float(minutes), lambda tried: None)
    with suppress(EndedError):
        turns.take([same], False)
tried = asdict((*turns.tried, *turns.unfinished())[0])
said = {"tried": tried, "part": first.part, "outcomes": outcomes, "isolation": first.isolation}
print(json.dumps(said, default=str))
"""


def replaced(text: str, replacements: Sequence[tuple[str, str]]) -> str:
    """Return a text with each replacement made; each must be possible."""
    for old, new in replacements:
        if old not in text:
            raise ValueError(f"{old!r} was expected in the program")
        text = text.replace(old, new)
    return text


def with_stopwatch(text: str) -> str:
    """Return a program that also says the processor time of its training."""
    begun = f"{STOPWATCH}; used = _processor_ns(_getpid())"
    stopped = f'{STOPPED}\n    print(f"processor {{(_processor_ns(_getpid()) - used) / 1e9:.3f}}")'
    text = replaced(text, ((STOPWATCH, begun), (STOPPED, stopped)))
    imports = "from os import getpid as _getpid\nfrom rlscope.trial.clock import processor_ns as _processor_ns\n"
    return re.sub(r"^import ", f"{imports}import ", text, count=1, flags=re.MULTILINE)


class Called(NamedTuple):
    """A command that has ended: its status, what it printed, and the seconds that it took."""

    status: int
    said: str
    errors: str
    seconds: float


#: Is given all measurements, the number of the worker that does it, and a folder of its own.
Task = Callable[["Bench", int, Path], None]


class Bench:
    """All measurements, by workers that have cores of their own."""

    def __init__(self, out: Path, seconds: float, workers: int) -> None:
        self.out = out
        self.deadline = time.monotonic() + seconds
        self.workers = workers
        self.lock = threading.Lock()
        self.found: list[dict[str, Any]] = []
        self.tasks: queue.Queue[Task] = queue.Queue()
        self.in_place = False

    def say(self, kind: str, called: Called | None = None, **found: Any) -> None:
        """Keep a result."""
        found["kind"] = kind
        if called is not None:
            found |= {"status": called.status, "seconds": called.seconds, "errors": called.errors[-1500:]}
        with self.lock:
            self.found.append(found)
            with (self.out / "results.jsonl").open("a") as file:
                file.write(json.dumps(found) + "\n")
            (self.out / "summary.json").write_text(json.dumps(summary(self.found), indent=1) + "\n")

    def call(self, words: Sequence[str], worker: int, folder: Path, variables: Mapping[str, str]) -> Called:
        """Run words on the worker's cores until the deadline."""
        cores = ",".join(str((CORES * worker + i) % (os.cpu_count() or 1)) for i in range(CORES))
        environment = {
            **os.environ,
            **dict.fromkeys(THREADS, "1"),
            "CUDA_VISIBLE_DEVICES": "",
            "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
            "MPLCONFIGDIR": str(self.out.parent / "matplotlib"),
            "SDL_VIDEODRIVER": "dummy",
            **variables,
        }
        begun = time.monotonic()
        with (folder / "said.txt").open("w+") as output, (folder / "errors.txt").open("w+") as errors:
            process = subprocess.Popen(
                ["taskset", "-c", cores, *words], cwd=folder / "run", env=environment, stdout=output, stderr=errors,
                stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
            end_in_time(process, max(0.5, self.deadline - begun), 4.0)
            output.seek(0)
            errors.seek(0)
            return Called(process.returncode, output.read(), errors.read(), time.monotonic() - begun)

    def run(self, tasks: Sequence[Task]) -> None:
        """Do tasks in their order."""
        for task in tasks:
            self.tasks.put(task)
        threads = [threading.Thread(target=self.work, args=(i,)) for i in range(self.workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def work(self, worker: int) -> None:
        """Do what is left until the deadline."""
        while time.monotonic() < self.deadline - 8:
            try:
                task = self.tasks.get_nowait()
            except queue.Empty:
                return
            try:
                with tempfile.TemporaryDirectory(prefix="trying-", ignore_cleanup_errors=True) as folder:
                    task(self, worker, Path(folder))
            except Exception as error:  # one that fails does not end the others
                self.say("failed", task=str(task), error=repr(error))


def script_of(program: str, replacements: Sequence[tuple[str, str]], folder: Path) -> Path:
    """Write a program into FOLDER/run; return the file."""
    (folder / "run").mkdir(parents=True)
    script = written(program, folder / "run")
    script.write_text(with_stopwatch(replaced(script.read_text(), replacements)))
    return script


class OfCase(NamedTuple):
    """The task of a case: try and bench."""

    case: Case

    def __call__(self, bench: Bench, worker: int, folder: Path) -> None:
        case, change = self.case, self.case.changes[0]
        script = script_of(case.program, case.prepared, folder)
        edited = script.with_name("edited.py")
        edited.write_text(replaced(script.read_text(), case.edit))
        rlscope = [sys.executable, "-m", "rlscope"]
        options = ["--json", "--minutes", str(TRY_MINUTES), "--changes", ",".join(case.changes)]
        options += ["--in-place"] if bench.in_place else []
        words = [*rlscope, "try", *options, "--", sys.executable, script.name]
        called = bench.call(words, worker, folder, case.variables)
        document = read(called.said)
        rows = [row for row in alone(document) if row["changes"] == [change]]
        bench.say("try", called, program=case.program, change=change, document=document, row=rows[0] if rows else None)
        variables = " ".join(f"{name}={value}" for name, value in case.edited_variables.items())
        python = shlex.quote(sys.executable)
        commands = [f"{python} {script.name}", f"{variables} {python} {edited.name}".strip()]
        words = [*rlscope, "bench", "--time", "-n", str(RUNS), "-o", str(folder / "bench"), *commands]
        called = bench.call(words, worker, folder, case.variables)
        times = {side: times_of(folder / "bench" / side) for side in "AB"}
        bench.say("bench", called, program=case.program, change=change, times=times, said=called.said)


class OfSame(NamedTuple):
    """The task of a trial with nothing changed."""

    program: str
    is_wall: bool

    def __call__(self, bench: Bench, worker: int, folder: Path) -> None:
        script = script_of(self.program, (), folder)
        options = [NOTHING, str(int(self.is_wall)), str(SAME_MINUTES), str(int(bench.in_place))]
        called = bench.call(
            [sys.executable, "-c", SAME_PROGRAM, *options, sys.executable, script.name], worker, folder, {}
        )
        bench.say("same", called, program=self.program, is_wall=self.is_wall, said=read(called.said))


def read(text: str) -> Any:
    """Return a document; None if there is none."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def alone(document: Any) -> list[dict[str, Any]]:
    """Return the rows of changes that were tried on top of nothing."""
    return [row for row in (document or {}).get("tried", ()) if not row["on_top_of"]]


def factor_in(row: Mapping[str, Any]) -> Any:
    """Return the factor that counts of a row of a document."""
    return row["wall" if row["clock"] == WALL else "processor"]


def times_of(folder: Path) -> list[dict[str, float]]:
    """Return what the programs' stopwatches said, by run."""
    found = []
    for file in sorted(folder.glob("run-*.txt"), key=lambda path: int(path.stem[4:])):
        text = file.read_text()
        said = {name: re.findall(rf"^{name} ([\d.]+)$", text, re.MULTILINE) for name in ("seconds", "processor")}
        if all(said.values()):
            found.append({name: float(values[-1]) for name, values in said.items()})
    return found


def edited_factor(times: Mapping[str, list[dict[str, float]]], name: str) -> tuple[float, float, float] | None:
    """Return how many times as fast the edited program is, with its interval."""
    from rlscope.trial.pairs import factor_of

    pairs = [(a[name], b[name]) for a, b in zip(times["A"], times["B"], strict=False)]
    if not pairs:
        return None
    found = factor_of(pairs)
    return found.value, found.low or 0.0, found.high or math.inf


def summary(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Count what is as wanted."""
    benched = {row["program"]: row for row in found if row["kind"] == "bench"}
    edited, best = {}, {}
    for row in found:
        if row["kind"] != "try" or row["row"] is None or row["program"] not in benched:
            continue
        tried, bench = row["row"], benched[row["program"]]
        by_edit = edited_factor(bench["times"], "seconds" if tried["clock"] == WALL else "processor")
        by_wall = edited_factor(bench["times"], "seconds")
        factor = factor_in(tried)
        if by_edit is None or by_wall is None or factor is None:
            continue
        edited[row["program"]] = {
            "change": row["change"],
            "clock": tried["clock"],
            "verdict": tried["verdict"],
            "pairs": tried["pairs"],
            "try": [round(factor[name] or 0, 3) for name in ("value", "low", "high")],
            "edited": [round(each, 3) for each in by_edit],
            "apart_percent": round(100 * (factor["value"] / by_edit[0] - 1), 1),
        }
        paying = [each for each in alone(row["document"]) if each["verdict"] == "pays"]
        top = max(paying, key=lambda each: factor_in(each)["value"], default=None)
        best[row["program"]] = {
            "best": top and top["changes"],
            "is_the_edit": bool(top) and top["changes"] == [row["change"]],
            "wall_of_training": [round(each, 3) for each in by_wall],
            "bench": bench["said"][-700:],
        }
    same = []
    for row in found:
        tried = row["kind"] == "same" and row["said"] and row["said"]["tried"]
        factor = tried and tried["wall" if row["is_wall"] else "processor"]
        if factor and factor["low"] is not None:
            same.append(
                {
                    "program": row["program"],
                    "is_wall": row["is_wall"],
                    "pairs": tried["pairs"],
                    "covers": factor["low"] <= 1 <= factor["high"],
                    "factor": [round(factor[name], 4) for name in ("value", "low", "high")],
                }
            )
    near = [name for name, row in edited.items() if abs(row["apart_percent"]) <= 10]
    faster = [name for name, row in best.items() if row["is_the_edit"] and row["wall_of_training"][0] > 1]
    shown = ("kind", "program", "task", "error", "status", "errors")
    return {
        "edited": edited,
        "within_10_percent": [len(near), len(edited)],
        "best": best,
        "faster": [len(faster), len(best)],
        "same": same,
        "cover": [sum(each["covers"] for each in same), len(same)],
        "failed": [
            {name: row.get(name) for name in shown} for row in found if row["kind"] == "failed" or row.get("status")
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=245)
    parser.add_argument("--workers", type=int, default=max(1, ((os.cpu_count() or 1) - 1) // CORES))
    parser.add_argument("--only", default="", help="programs, comma-separated")
    arguments = parser.parse_args()
    begun = time.monotonic()
    arguments.out.mkdir(parents=True, exist_ok=True)
    bench = Bench(arguments.out.resolve(), arguments.seconds, arguments.workers)
    with tempfile.TemporaryDirectory(prefix="trying-") as folder:
        Path(folder, "run").mkdir()
        called = bench.call([sys.executable, "-c", FIRST_PROGRAM], 0, Path(folder), {})
    bench.in_place = "isolation" not in called.said
    bench.say("machine", called, said=called.said, cores=os.cpu_count(), python=sys.version, load=os.getloadavg())
    only = {name for name in arguments.only.split(",") if name}
    tasks: list[Task] = []
    tasks += [OfCase(case) for case in CASES if not only or case.program in only]
    # Cases that come last run where time is left.
    tasks[FIRST:FIRST] = [
        OfSame(each, is_wall) for each in SAME for is_wall in (False, True) if not only or each in only
    ]
    bench.run(tasks)
    bench.say("end", whole_s=time.monotonic() - begun, load=os.getloadavg())
    print((arguments.out / "summary.json").read_text())


if __name__ == "__main__":
    main()
