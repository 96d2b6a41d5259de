"""What recording does where a Python starts: little, and nothing that shows."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from recording import environment, record

from rlscope.record.config import RecordConfig
from rlscope.record.run.trace_directory import environment_of_children

#: What a process is recorded with until it imports a library that is known. Each module costs every child time.
OURS = """
    __init__ _native errors libraries record record.blocking record.child record.config record.cupti
    record.import_hooks record.namespaces record.native_names record.progress record.recorder record.replacements
    record.small_json record.started_as record.task_types record.unrecordable trace trace.files version
""".split()
OF_PYTHON = {"__future__", "_json", "atexit", "errno", "gc", "importlib", "importlib.machinery", "importlib._bootstrap"}
OF_PYTHON |= {"importlib._bootstrap_external", "sitecustomize", "types", "warnings"}
OF_PYTHON.add("io")  # since Python 3.14 the first import of a file loads it
SHOW = "import sys; sys.stdout.write(' '.join(sorted(sys.modules)))"


def test_a_child_that_does_nothing_imports_little(tmp_path: Path) -> None:
    plain = subprocess.run([sys.executable, "-c", SHOW], capture_output=True, text=True, check=True, env=environment())
    recorded = record(tmp_path / "trace", sys.executable, "-c", SHOW)
    added = set(recorded.stdout.split()) - set(plain.stdout.split())
    allowed = {f"rlscope.{name}".removesuffix(".__init__") for name in OURS} | OF_PYTHON
    assert added - allowed == set()
    assert "rlscope._native" in added


def with_site(tmp_path: Path, trace: Path) -> dict[str, str]:
    """The environment of a child of a recorded run whose user has a sitecustomize."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("print('site')\n")
    return environment_of_children(trace, RecordConfig(), {**environment(), "PYTHONPATH": str(tmp_path / "site")})


@pytest.mark.parametrize(
    "configuration", [{"invented_later": 1, "layers": ["wait"]}, {"clock": {"unknown": 2}}, [], "{"]
)
def test_a_configuration_of_another_version_breaks_nothing(configuration: object, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trace.mkdir()
    text = configuration if isinstance(configuration, str) else json.dumps(configuration)
    (trace / "config.json").write_text(text)
    finished = subprocess.run(
        [sys.executable, "-c", "print('ran')"], env=with_site(tmp_path, trace), capture_output=True, text=True
    )
    assert (finished.returncode, finished.stdout) == (0, "site\nran\n")
    is_recorded = isinstance(configuration, dict) and "invented_later" in configuration
    assert len(list(trace.glob("*.rlscope"))) == is_recorded
    assert (trace / "unrecorded.txt").exists() != is_recorded
    assert ("is not recorded" in finished.stderr) != is_recorded


SUBINTERPRETER = """
import importlib, sys
for name in ("_interpreters", "_xxsubinterpreters"):
    try:
        interpreters = importlib.import_module(name)
    except ImportError:
        continue
    break
else:
    interpreters = importlib.import_module("_testcapi")
number = interpreters.create()
interpreters.run_string(number, "print('inside')")
interpreters.destroy(number)
print("outside")
"""


def test_a_subinterpreter_is_silent_and_loses_nothing(tmp_path: Path) -> None:
    plain = subprocess.run([sys.executable, "-c", SUBINTERPRETER], capture_output=True, text=True, env=environment())
    recorded = record(tmp_path / "trace", sys.executable, "-c", SUBINTERPRETER)
    assert (recorded.returncode, recorded.stdout) == (plain.returncode, plain.stdout)
    assert [line for line in recorded.stderr.splitlines() if not line.startswith("rlscope: ")] == (
        plain.stderr.splitlines()
    )
    assert "not recorded" not in recorded.stderr
    assert recorded.analysis["complete"]
    assert len(recorded.files) == 1


def test_a_library_is_followed_that_is_imported_after_the_start(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nassert 'rlscope.record.libraries' not in sys.modules\nimport gymnasium\n"
        "env = gymnasium.make('CartPole-v1'); env.reset(); env.step(0)\n"
    )
    recorded = record(tmp_path / "trace", script)
    assert recorded.returncode == 0, recorded.stderr
    assert recorded.main_sweep()["events"]["operation"] == 3  # simulation, in it reset; simulation
