"""The build makes structs of the classes that declare what C++ finds; a class that was changed since is refused."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest
from trace_builder import parse_script, sweep_script, write_script

from rlscope.analysis import swept
from rlscope.errors import RLScopeError

GENERATOR = Path(__file__).resolve().parents[2] / "cmake" / "swept_rows.py"
TYPES = 'Ticks = Annotated[int, "uint64_t"]\nLabel = Annotated[str, "std::string_view"]\n'
DECLARED = """
class Key(NamedTuple):
    name: str

class Found(NamedTuple):
    name: Label
    ticks: Ticks | None

    @property
    def key(self) -> Key: ...

class All(NamedTuple):
    found: list[Found]
    by_name: dict[Label, Ticks]
    is_whole: bool
"""
STRUCTS = """
struct Found {
  std::string_view name{};
  std::optional<uint64_t> ticks{};
  static constexpr PythonClass kPython{"package.found", "Found", "name ticks"};
  auto fields() const { return std::tie(name, ticks); }
};

struct All {
  std::vector<Found> found{};
  std::map<std::string_view, uint64_t> by_name{};
  bool is_whole{};
  static constexpr PythonClass kPython{"package.found", "All", "found by_name is_whole"};
  auto fields() const { return std::tie(found, by_name, is_whole); }
};
"""
#: Ten ticks, of which a wait has six.
WAITS = parse_script("process start=0 stop=10\nthread 0\n1 + wait:recv\n7 -\n")


def written(folder: Path, declared: str) -> "subprocess.CompletedProcess[str]":
    (folder / "package").mkdir(exist_ok=True)
    (folder / "package/found.py").write_text(declared)
    (folder / "package/swept_types.py").write_text(TYPES)
    words = [sys.executable, str(GENERATOR), "made/rows.h", "package/found.py", "package/swept_types.py"]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True)


def test_a_class_becomes_a_struct_of_the_same_fields(tmp_path: Path) -> None:
    assert written(tmp_path, DECLARED).returncode == 0
    header = tmp_path / "made/rows.h"
    text = header.read_text()
    assert STRUCTS in text and "Key {" not in text
    before = header.stat().st_mtime_ns
    written(tmp_path, f'"""Says something else."""\n{DECLARED}')
    assert header.stat().st_mtime_ns == before
    written(tmp_path, DECLARED.replace("    is_whole: bool\n", ""))
    assert "is_whole" not in header.read_text()


@pytest.mark.parametrize("type_", ["int", "Tick", "list[Ticks]", "list[Label]", "tuple[Ticks, Ticks]", "Later"])
def test_a_type_that_c_does_not_know_is_named(tmp_path: Path, type_: str) -> None:
    found = written(tmp_path, f"{DECLARED}    other: {type_}\n\nclass Later(NamedTuple):\n    ticks: Ticks\n")
    assert found.returncode == 1 and not (tmp_path / "made").exists()
    assert found.stderr.startswith("package.found.All: ") and found.stderr.endswith(f" {type_}\n")


class SweptWait(NamedTuple):
    boundary: str
    phase: str
    entries: int
    in_operations_ticks: int
    in_loop_ticks: int
    ticks: int


@dataclass(frozen=True)
class Swept:
    start_ticks: int


def test_a_class_that_was_changed_since_the_build_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_script(WAITS, tmp_path)
    assert sweep_script(WAITS, path).waits[0].ticks == 6
    for changed in (SweptWait, Swept):
        with monkeypatch.context() as patched, pytest.raises(RLScopeError) as refused:
            patched.setattr(swept, changed.__name__, changed)
            sweep_script(WAITS, path)
        assert f"rlscope.analysis.swept.{changed.__name__} " in str(refused.value)
        assert str(list(changed.__annotations__)) in str(refused.value)
    with monkeypatch.context() as patched, pytest.raises(RLScopeError):
        patched.delattr(swept, "SweptWait")
        sweep_script(WAITS, path)
