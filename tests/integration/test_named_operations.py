"""Stages that users name without edits: each way to name a function, a method, or what is never met."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from recording import Recording, environment, record, rlscope

import rlscope as rlscope_package
from rlscope import _analysis
from rlscope.errors import UsageError

NEEDS_MONITORING = pytest.mark.skipif(sys.version_info < (3, 12), reason="follows functions of the script from 3.12 on")
STAGES = "simulation, inference, backpropagation, synchronisation"
NO_STAGE = f"is no stage; stages are {STAGES}, and evaluation is the phase of tests"


def named(*operations: str) -> tuple[str, ...]:
    return tuple(word for operation in operations for word in ("--operation", operation))


def entered(recording: Recording) -> set[tuple[str, str]]:
    """Stages and operations that took time, in any process."""
    return {(row["stage"], row["operation"]) for row in recording.analysis["breakdown"] if row["operation"] != "(none)"}


def script(folder: Path, text: str) -> Path:
    path = folder / "script.py"
    path.write_text(text)
    return path


def unmet(trace: Path) -> list[str]:
    """What `inspect` says of operations that were not met."""
    found: list[str] = json.loads(rlscope("inspect", trace, "--json").stdout)["unmet_operations"]
    return found


def test_functions_and_methods_wherever_they_are_reached_from(tmp_path: Path) -> None:
    recording = record(
        tmp_path / "trace",
        "named.py",
        tmp_path,
        options=named(
            "simulation=envs:Env.step",
            "simulation/reset=envs.my:Env.reset",
            "simulation/make=envs.my:Env.make",
            "simulation/rollout=envs:rollout",
            "inference/generate=lazy:Mixin.generate",
            "inference/helper=lazy:helper",
            "simulation/reward=__main__:Judge.score",
        ),
    )
    assert recording.returncode == 0, recording.stderr
    assert "was not recorded" not in recording.stderr
    for operation, sleeps in {"simulation": 2, "reset": 2, "make": 1, "rollout": 1, "generate": 1, "reward": 1}.items():
        seconds = recording.layer_seconds("wait", operation=operation)
        assert seconds >= 0.02 * sleeps, operation
        assert seconds < 0.02 * (sleeps + 1) or operation == "rollout", operation
    assert recording.layer_seconds("wait", stage="inference", operation="helper") >= 0.02
    assert recording.layer_seconds("wait", stage="inference", operation="generate") >= 0.02
    assert recording.main_sweep()["misnested_operations"] == 0
    # A name in a package that imports when asked has not been asked for earlier than the program does.
    assert json.loads(recording.stdout) == ["lazy", "lazy.inner", "lazy.inner.implementation", "lazy.model"]


def test_a_function_that_tests_the_policy_is_an_evaluation(tmp_path: Path) -> None:
    names = ("evaluation=envs:rollout", "evaluation/look=lazy:Mixin.generate", "inference=lazy:helper")
    recording = record(tmp_path / "trace", "named.py", tmp_path, options=named(*names))
    assert recording.returncode == 0, recording.stderr
    assert "was not recorded" not in recording.stderr
    for operation, sleeps in {"(none)": 1, "look": 1, "inference": 0}.items():
        seconds = recording.layer_seconds("wait", phase="evaluation", operation=operation)
        assert 0.02 * sleeps <= seconds < 0.02 * (sleeps + 1), operation
    assert recording.main_sweep()["misnested_operations"] == 0


def test_nothing_changes_for_a_program_that_asks_a_package_for_nothing(tmp_path: Path) -> None:
    program = "import sys; sys.path.insert(0, '.'); import lazy; print('lazy.inner' in sys.modules)"
    from scripts.named import write_modules

    write_modules(tmp_path)
    recording = record(tmp_path / "trace", script(tmp_path, program), options=named("inference=lazy:Mixin.generate"))
    assert recording.stdout == "False\n"
    assert "operation inference=lazy:Mixin.generate was not recorded: package lazy has no Mixin" in recording.stderr


def test_classes_of_the_script_also_in_children(tmp_path: Path) -> None:
    program = script(
        tmp_path,
        "import multiprocessing, time\n"
        "class Base:\n"
        "    def score(self): time.sleep(0.02)\n"
        "class Judge(Base):\n"
        "    class Inner:\n"
        "        def look(self): time.sleep(0.02)\n"
        "class Strict(Judge):\n"
        "    def score(self): Judge.Inner().look(); super().score()\n"
        "def work(): Strict().score()\n"
        "if __name__ == '__main__':\n"
        "    work()\n"
        "    for how in ('fork', 'spawn', 'forkserver'):\n"
        "        child = multiprocessing.get_context(how).Process(target=work)\n"
        "        child.start()\n"
        "        child.join()\n",
    )
    options = named("simulation/reward=__main__:Judge.score", "inference/look=__main__:Judge.Inner.look")
    recording = record(tmp_path / "trace", program, options=options)
    assert recording.returncode == 0, recording.stderr
    assert "was not recorded" not in recording.stderr
    waits = [row for row in recording.analysis["breakdown"] if row["category"] == "wait"]
    for operation in ("reward", "look"):
        assert len({row["process"] for row in waits if row["operation"] == operation}) == 4, operation


def test_a_class_that_is_made_anew_by_its_decorator(tmp_path: Path) -> None:
    program = script(
        tmp_path,
        "import dataclasses, sys, time\n"
        "class Seen(type):\n"
        "    def __new__(meta, *args):\n"
        "        Seen.caller = sys._getframe(1).f_code.co_name\n"
        "        return type.__new__(meta, *args)\n"
        "class Noted(metaclass=Seen): ...\n"
        "@dataclasses.dataclass(slots=True)\n"
        "class Judge:\n"
        "    weight: float = 1.0\n"
        "    def score(self): time.sleep(0.02)\n"
        "class Strict(Judge):\n"
        "    def score(self): Judge.score(self)\n"
        "Strict().score()\n"
        "print(Seen.caller, Judge.__slots__)\n",
    )
    recording = record(tmp_path / "trace", program, options=named("simulation=__main__:Judge.score"))
    assert recording.stdout == "<module> ('weight',)\n", recording.stderr  # nobody sees a frame of ours
    assert recording.layer_seconds("wait", stage="simulation") >= 0.02


SCRIPT_FUNCTIONS = (
    "import functools, multiprocessing, time\n"
    "def decorated(function):\n"
    "    return functools.wraps(function)(lambda *args: function(*args))\n"
    "@decorated\n"
    "def train():\n"
    "    try: fail()\n"
    "    except ValueError: time.sleep(0.02)\n"
    "def fail(): raise ValueError\n"
    "def steps():\n"
    "    time.sleep(0.02)\n"
    "    yield\n"
    "def work(): time.sleep(0.02)\n"
    "if __name__ == '__main__':\n"
    "    train()\n"
    "    for _ in steps(): time.sleep(0.1)\n"
    "    for how in ('fork', 'spawn', 'forkserver'):\n"
    "        child = multiprocessing.get_context(how).Process(target=work)\n"
    "        child.start()\n"
    "        child.join()\n"
)


@NEEDS_MONITORING
def test_functions_of_the_script(tmp_path: Path) -> None:
    options = named(
        "backpropagation=__main__:train",
        "inference/fail=__main__:fail",
        "simulation/steps=__main__:steps",
        "simulation/work=__main__:work",
        "simulation=__main__:missing",
    )
    recording = record(tmp_path / "trace", script(tmp_path, SCRIPT_FUNCTIONS), options=options)
    assert recording.returncode == 0, recording.stderr
    assert "operation simulation=__main__:missing was not recorded: the script has no missing" in recording.stderr
    assert recording.layer_seconds("wait", stage="backpropagation", operation="backpropagation") >= 0.02
    assert 0.02 <= recording.layer_seconds("wait", operation="steps") < 0.1  # not while it is suspended
    waits = [row for row in recording.analysis["breakdown"] if row["category"] == "wait"]
    assert len({row["process"] for row in waits if row["operation"] == "work"}) == 3
    assert recording.main_sweep()["misnested_operations"] == 0


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python can follow them")
def test_functions_of_the_script_are_refused_before_they_run(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", script(tmp_path, "print('ran')"), options=named("simulation=__main__:work"))
    assert (recording.returncode, recording.stdout) == (2, "")
    assert recording.stderr == (
        "rlscope: error: --operation: work is a function of the script itself, which Python can follow from 3.12 on; "
        'move it into a module, or decorate it with @rlscope.operation("simulation")\n'
    )
    assert not (tmp_path / "trace").exists()


def test_what_is_never_met_is_said(tmp_path: Path) -> None:
    program = script(tmp_path, "import json, math\nlimit = 3\n")
    reasons = {
        "simulation=no.such:step": "module no.such was never imported",
        "simulation=json.decoder:nope": "module json.decoder has no nope",
        "simulation=json.decoder:JSONDecoder.nope": "there is no JSONDecoder.nope of json.decoder",
        "simulation=math:sqrt": "sqrt of math is no function or method written in Python, but of type "
        "builtin_function_or_method",
        "simulation=json.decoder:JSONDecoder": "JSONDecoder of json.decoder is no function or method written in "
        "Python, but of type type",
        "simulation=__main__:Judge.score": "the script has no Judge",
    }
    recording = record(
        tmp_path / "trace", program, options=named(*reasons, "inference=json.decoder:JSONDecoder.decode")
    )
    lines = [f"operation {operation} was not recorded: {reason}" for operation, reason in reasons.items()]
    assert recording.returncode == 0
    assert recording.stderr.splitlines()[:-1] == [f"rlscope: {line}" for line in lines]
    assert unmet(tmp_path / "trace") == lines
    shown = rlscope("inspect", tmp_path / "trace").stdout.splitlines()
    assert all(line in shown for line in lines)


def test_it_is_enough_that_one_process_meets_it(tmp_path: Path) -> None:
    program = script(
        tmp_path, "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import json; json.loads(\"1\")'])\n"
    )
    recording = record(tmp_path / "trace", program, options=named("inference/load=json:loads"))
    assert "was not recorded" not in recording.stderr
    assert unmet(tmp_path / "trace") == []
    assert sum(swept["events"]["operation"] for swept in recording.sweeps()) == 2


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ("infrence=a:b", f"'infrence' {NO_STAGE}; did you mean inference?"),
        ("x=a:b", f"'x' {NO_STAGE}"),
        *(
            (text, "STAGE=module:function, STAGE/OPERATION=module:Class.method or, of a timer, "
             f"STAGE=module:function(name) was expected, not {text!r}; for example simulation=envs.my:Env.step")
            for text in ("simulation", "simulation=a", "simulation=a:", "simulation/=a:b", "inference=a:f.<locals>.g",
                         "inference=a:f()", "inference=a:f(x", "inference=a:(x)", "inference=a:f(x)y")
        ),
    ],
)  # fmt: skip
def test_a_name_that_is_written_wrongly_is_one_line(operation: str, message: str, tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", script(tmp_path, ""), options=named(operation))
    assert (recording.returncode, recording.stderr) == (2, f"rlscope: error: --operation: {message}\n")


PROGRAM = "import json, textwrap\njson.loads('1'); json.dumps(1); textwrap.dedent('')\n"
TABLE = '{table}\nsimulation = "textwrap:dedent"\n"inference/load" = ["json:loads", "json:dumps"]\n'
FILES = [("rlscope.toml", "[operations]"), ("pyproject.toml", "[tool.rlscope.operations]")]


@pytest.mark.parametrize(("file", "table"), FILES)
def test_operations_in_a_file_of_the_project(file: str, table: str, tmp_path: Path) -> None:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    (tmp_path / "project" / "runs").mkdir()
    (tmp_path / "project" / file).write_text(TABLE.format(table=table))
    (tmp_path / file).write_text("not TOML, but behind the repository")
    recording = record(
        tmp_path / "trace",
        script(tmp_path, PROGRAM),
        options=named("simulation/more=json:dumps"),
        cwd=tmp_path / "project" / "runs",
    )
    assert recording.returncode == 0, recording.stderr
    assert {("simulation", "simulation"), ("inference", "load"), ("simulation", "more")} <= entered(recording)


@pytest.mark.parametrize(("file", "table"), FILES)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{table}\n"infrence" = "a:b"', "key \"infrence\" of {table}: 'infrence' is no stage"),
        ("{table}\nsimulation = 3", 'key "simulation" of {table}: "module:function" or a list of such was expected'),
        ("{parent}operation = 1", "operation is not known; "),
        ("{parent}operations = 1", "was expected, not 1"),
        ("{table", "is not TOML"),
    ],
)
def test_an_error_in_the_file_names_it(file: str, table: str, text: str, message: str, tmp_path: Path) -> None:
    parent = "[tool.rlscope]\n" if file == "pyproject.toml" else ""
    contents = text.format(table=table, parent=parent) if "}" in text else text
    (tmp_path / file).write_text(contents)
    recording = record(tmp_path / "trace", script(tmp_path, ""))
    assert recording.returncode == 2
    assert recording.stderr.startswith(f"rlscope: error: {tmp_path / file}")
    assert message.format(table=table) in recording.stderr
    assert recording.stderr.count("\n") == 1
    assert "did you mean operations?" in recording.stderr or "operation =" not in text


def test_a_script_that_records_itself_names_operations_too(tmp_path: Path) -> None:
    dedent = textwrap.dedent
    with rlscope_package.profile(tmp_path / "trace", operations=["inference/dedent=textwrap:dedent"]):
        assert textwrap.dedent(" 1") == "1"
    (path,) = (tmp_path / "trace").glob("*.rlscope")
    assert vars(_analysis.sweep(str(path)))["events"]["operation"] == 2
    assert textwrap.dedent is dedent
    with pytest.raises(UsageError, match="is no stage"), rlscope_package.profile(tmp_path / "t", operations=["x=a:b"]):
        pass


def test_what_is_named_is_certain_and_joins_what_a_library_opens(tmp_path: Path) -> None:
    program = script(
        tmp_path,
        "import gymnasium, torch, my\n"
        "env = gymnasium.make('CartPole-v1')\n"
        "env.reset(seed=0)\n"
        "for _ in range(20):\n"
        "    my.generate()\n"
        "    my.step(env)\n",
    )
    (tmp_path / "my.py").write_text(
        "import torch\n"
        "network = torch.nn.Linear(4, 2)\n"
        "optimizer = torch.optim.SGD(network.parameters(), lr=0.1)\n"
        "def generate():\n"
        "    network(torch.zeros(4)).sum().backward()\n"
        "    optimizer.step()\n"
        "def step(env): env.step(0)\n"
    )
    options = named("inference/generate=my:generate", "simulation/mine=my:step", "simulation/core=gymnasium:Env.step")
    recording = record(tmp_path / "trace", program, options=options)
    assert recording.returncode == 0, recording.stderr
    operations = entered(recording)
    assert ("inference", "generate") in operations
    assert "backpropagation" not in {stage for stage, _ in operations}
    assert {"mine", "core"} & {operation for _, operation in operations}
    assert recording.main_sweep()["misnested_operations"] == 0


def test_named_functions_keep_their_names_and_stay_one_graph_where_pytorch_compiles_them(tmp_path: Path) -> None:
    program = script(
        tmp_path,
        "import torch, my\n"
        "agent, x = my.Agent(), torch.ones(2)\n"
        "for function in (my.act, agent.act, my.rollout):\n"
        "    compiled = torch.compile(function, fullgraph=True, backend='eager')\n"
        "    print(compiled(x), compiled(x), torch._dynamo.explain(function)(x).graph_break_count)\n",
    )
    (tmp_path / "my.py").write_text(
        "def act(x): return x.sin()\n"
        "def rollout(x): return act(x) + 1\n"
        "class Agent:\n"
        "    def act(self, x): return x.cos()\n"
    )
    plain = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, env=environment(), check=True, cwd=tmp_path
    )
    options = named("inference/function=my:act", "simulation/method=my:Agent.act")
    recording = record(tmp_path / "trace", program, options=options)
    assert (recording.returncode, recording.stdout) == (0, plain.stdout), recording.stderr
    assert {("inference", "function"), ("simulation", "method")} <= entered(recording)
    assert recording.main_sweep()["misnested_operations"] == 0


def test_the_help_says_how() -> None:
    assert "--operation STAGE[/OPERATION]=MODULE:FUNCTION" in " ".join(rlscope("record", "--help").stdout.split())


TIMERS = """
import contextlib, time
class Phases:
    @contextlib.contextmanager
    def time(self, name):
        yield
class Timer:
    def __init__(self, message, seconds=None): self.message = message
    def __enter__(self): return self
    def __exit__(self, *error): ...
    async def __aenter__(self): return self
    async def __aexit__(self, *error): ...
@contextlib.contextmanager
def marked(name, seconds): yield
def plain(name): return len(name)
"""
TIMED = """
import asyncio, time
from timers import Phases, Timer, marked, plain
class Own(Timer): ...
phases, seconds = Phases(), {}
with phases.time("step"):
    with phases.time("rollout/generation = 1"): time.sleep(0.02)
    with Timer("sync_weights", seconds): time.sleep(0.02)
    with Own("eval"): time.sleep(0.02)
    with marked(name="reward (all)", seconds=seconds): time.sleep(0.02)
    plain("update")
async def turn():
    async with Timer("tool"): await asyncio.sleep(0.05)
async def main(): await asyncio.gather(turn(), turn())
asyncio.run(main())
"""


def test_what_runs_inside_of_the_blocks_of_a_timer(tmp_path: Path) -> None:
    (tmp_path / "timers.py").write_text(TIMERS)
    unmet_ones = {
        "inference=timers:Phases.time(generate)": "Phases.time of timers was never called with 'generate'",
        "inference=timers:plain(update)": "with 'update', plain of timers returned no context manager and no "
        "decorator, but an object of type int",
        "inference=timers:Phases.measure(x)": "there is no Phases.measure of timers",
        "inference=__main__:timer(x)": "the script has no class timer; a timer that is a function must be in a module "
        "to be followed",
    }
    options = named(
        "inference/generate=timers:Phases.time(rollout/generation = 1)",
        "backpropagation=timers:Timer(sync_weights)",
        "simulation/evaluate=__main__:Own(eval)",
        "simulation/reward=timers:marked(reward (all))",
        "simulation/tool_call=timers:Timer(tool)",
        *unmet_ones,
    )
    recording = record(tmp_path / "trace", script(tmp_path, TIMED), options=options)
    assert recording.returncode == 0, recording.stderr
    lines = [f"operation {operation} was not recorded: {reason}" for operation, reason in unmet_ones.items()]
    assert unmet(tmp_path / "trace") == lines
    for stage, operation in (
        ("inference", "generate"),
        ("backpropagation", "backpropagation"),
        ("simulation", "evaluate"),
        ("simulation", "reward"),
    ):
        assert recording.layer_seconds("wait", stage=stage, operation=operation) >= 0.02, operation
    swept = recording.main_sweep()
    assert swept["misnested_operations"] == 0
    assert {name: count for name, count, *_ in swept["tasks"]} == {"simulation": 2, "tool_call": 2}
