"""Modules that a program imports inside its operations are the operation `import`, a cause of its own."""

import os
from pathlib import Path

import pytest
from recording import Recording, record, run_plain

SCRIPT = """
import time
import early
import rlscope

for _ in range(3):
    with rlscope.operation("backpropagation"):
        import slow, os
        time.sleep(0)
        try:
            import no_such_module
        except ImportError as error:
            assert error.__traceback__.tb_next is None, "the import system's frames are cut"
    time.sleep(0)
import late
"""
SPIN = "import time\nend = time.perf_counter() + 0.3\nwhile time.perf_counter() < end: pass\n"


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    folder = tmp_path_factory.mktemp("imports")
    for name in ("early", "inner", "late"):
        (folder / f"{name}.py").write_text(SPIN)
    (folder / "slow.py").write_text("import inner\n" + SPIN)
    (folder / "train.py").write_text(SCRIPT)
    return record(folder / "trace", folder / "train.py")


def test_an_import_inside_an_operation_is_one(recording: Recording) -> None:
    assert recording.returncode == 0, recording.stderr
    found = {(row["stage"], row["operation"]) for row in recording.analysis["breakdown"]}
    assert found == {("backpropagation", "backpropagation"), ("training_loop", "import"), ("(none)", "(none)")}
    events = recording.main_sweep()["events"]
    assert events["operation"] == 3
    assert events["import"] == 1 + 3  # the one with another inside it, and what is not found


def test_importing_is_a_cause_where_it_is_in_the_loop(recording: Recording) -> None:
    in_loop = {
        row["cause"]: row["seconds"]
        for row in recording.analysis["account"]
        if row["cause"] not in ("starting_up", "afterwards", "no_core")
    }
    assert max(in_loop, key=lambda cause: in_loop[cause]) == "import"
    seconds = dict.fromkeys(("before", "in", "after"), 0.0)
    for row in recording.analysis["outside"]:
        seconds[row["part"]] += row["seconds"]
    assert min(seconds["before"], seconds["after"]) >= 0.3  # each module takes so long by its own clock


def test_nothing_of_it_stays_behind(tmp_path: Path) -> None:
    script = tmp_path / "stops.py"
    script.write_text(
        "import importlib._bootstrap as bootstrap, rlscope\n"
        "plain = bootstrap._find_and_load\n"
        "with rlscope.profile('trace'):\n"
        "    assert bootstrap._find_and_load is not plain\n"
        "assert bootstrap._find_and_load is plain\n"
    )
    finished = run_plain(script, cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert os.path.exists(tmp_path / "trace")
