"""What holds for the C++ sources: includes run downward, and files and functions stay small."""

import re
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src"
FILE = {"core", "core/format", "core/clock", "core/file"}
RECORDER = FILE | {"core/recording"}
TRACE = {"core/format", "analysis/file", "analysis/trace"}
SWEPT = TRACE | {"analysis/devices", "analysis/breakdown", "analysis/tables"}
#: What each folder of src/ may include besides its own files.
MAY_INCLUDE: dict[str, set[str]] = {
    "core": set(),
    "core/format": set(),
    "core/clock": {"core", "core/format"},
    "core/file": {"core", "core/format", "core/clock"},
    "core/recording": FILE,
    "cuda/calls": RECORDER,
    "cuda/cupti": RECORDER | {"cuda/calls"},
    "cuda/activity": RECORDER | {"cuda/calls", "cuda/cupti"},
    "cuda": RECORDER | {"cuda/calls", "cuda/cupti", "cuda/activity"},
    "python/frames": set(),
    "python/tasks": RECORDER | {"python/frames"},
    "python/stacks": RECORDER | {"python/frames"},
    "python/function_pointers": RECORDER,
    "python/operations": RECORDER | {"python/frames", "python/tasks", "python/function_pointers"},
    "python/calls": RECORDER | {"python/frames", "python/tasks", "python/function_pointers", "python/operations"},
    "python": RECORDER
    | {"cuda", "python/operations", "python/calls", "python/stacks", "python/frames", "python/tasks"},
    "analysis/file": {"core/format"},
    "analysis/trace": {"core/format", "analysis/file"},
    "analysis/devices": TRACE,
    "analysis/sharing": TRACE | {"analysis/devices"},
    "analysis/breakdown": TRACE,
    "analysis/tables": TRACE | {"analysis/devices", "analysis/breakdown"},
    "analysis/threads": SWEPT,
    "analysis/sweep": SWEPT | {"analysis/sharing", "analysis/threads"},
    "analysis/slices": TRACE | {"analysis/devices", "analysis/sharing"},
    "analysis_module": SWEPT | {"analysis/sharing", "analysis/sweep", "analysis/slices"},
}
MOST_FILES = 20
MOST_LINES = 600
MOST_LINES_OF_FUNCTION = 60
MOST_DATA_MEMBERS = 15
#: Types of src/analysis that have more; these numbers may only become smaller.
LARGE_TYPES = {"Detail": 28, "SweepResult": 16, "SweepTables": 30, "Thread": 24, "TraceFile": 21, "User": 16}

#: Not in src/: the build writes them.
WRITTEN = ("swept_rows.h", "tagged_records.h")
FILES = {file.name: file for file in sorted(SOURCES.rglob("*.*")) if file.suffix in (".h", ".cpp")}
BESIDE = [ROOT / part for part in ("tests/native", "benchmarks/native")]
CHECKED = [*FILES.values(), *(file for part in BESIDE for suffix in ("h", "cpp") for file in part.rglob(f"*.{suffix}"))]


def folder_of(file: Path) -> str:
    """Returns the folder of a file of src/ as the rules name it."""
    return file.parent.relative_to(SOURCES).as_posix()


def included(file: Path) -> list[Path]:
    """Returns the files of src/ that a file of src/ includes."""
    names = re.findall(r'^#include "([^"]+)"', file.read_text(), flags=re.MULTILINE)
    names = [name for name in names if name not in WRITTEN]
    missing = [name for name in names if name not in FILES]
    assert not missing, f"{file.relative_to(ROOT)} includes {missing}, which src/ does not have"
    return [FILES[name] for name in names]


def long_functions(text: str) -> Iterator[tuple[str, int]]:
    """Yields first line and length of each function that is too long; it begins and ends in the first column."""
    first, start = "", 0
    for number, line in enumerate(text.splitlines()):
        if line.startswith("}"):
            length = number - start + 1
            if "(" in first and length > MOST_LINES_OF_FUNCTION:
                yield first, length
            first = ""
        elif re.match(r"[A-Za-z_\[]", line):
            first, start = line, number


def data_members(text: str) -> dict[str, int]:
    """Returns how many data members each class and struct has, those of types within it left out."""
    text = re.sub(r"//.*|'.'|\"(?:\\.|[^\"\\])*\"", "", text)
    found = {}
    # What stands in brackets becomes one sign, innermost first.
    while match := re.search(r"\([^(){}\[\]]*\)|\[[^(){}\[\]]*\]|\{[^(){}\[\]]*\}", text):
        sign = {"(": "①", "[": "②", "{": "③"}[match[0][0]]
        head = re.search(r"\b(?:class|struct) (\w+)[^;①③{}()]*$", text[: match.start()])
        if sign == "③" and head:
            found[head[1]] = _members_of(match[0][1:-1])
        text = text[: match.start()] + sign + text[match.end() :]
    return found


def _members_of(body: str) -> int:
    body = re.sub(r"\b(?:public|private|protected):", "", body)
    body = re.sub(r"①\s*:\s*\w+[①③](?:\s*,\s*\w+[①③])*\s*③", "①③", body)  # what a constructor initialises
    body = re.sub(r"[^;①③]*①[^;③]*③", "", body)  # functions with a body
    count = 0
    for statement in body.split(";"):
        declared = re.sub(r"=[^,]*", "", statement)
        while "<" in declared and (shorter := re.sub(r"<[^<>]*>", "", declared)) != declared:
            declared = shorter
        is_function = "①" in declared or "operator" in declared
        is_other = re.match(r"\s*(?:(?:static|using|friend|enum|struct|class|template)\b|$)", declared)
        count += 0 if is_function or is_other else 1 + declared.count(",")
    return count


def test_every_folder_has_its_rule_and_no_two_files_have_one_name() -> None:
    assert {folder_of(file) for file in FILES.values()} == set(MAY_INCLUDE)
    assert len(FILES) == sum(1 for file in SOURCES.rglob("*.*") if file.suffix in (".h", ".cpp"))


@pytest.mark.parametrize("folder", MAY_INCLUDE)
def test_folders_include_what_lies_below_them(folder: str) -> None:
    wrong = [
        f"{file.relative_to(ROOT)} includes {other.relative_to(ROOT)}"
        for file in FILES.values()
        if folder_of(file) == folder
        for other in included(file)
        if folder_of(other) not in MAY_INCLUDE[folder] | {folder}
    ]
    assert not wrong


def test_the_rules_run_downward() -> None:
    try:
        TopologicalSorter(MAY_INCLUDE).prepare()
    except CycleError as error:
        pytest.fail(f"folders may include each other in a circle: {' <- '.join(error.args[1])}")


def test_a_folder_can_be_seen_at_a_glance() -> None:
    files = Counter(file.parent for file in CHECKED)
    assert not {str(folder.relative_to(ROOT)): count for folder, count in files.items() if count > MOST_FILES}


def test_no_circle_of_includes() -> None:
    """A header and the source beside it are one part: what either includes, the part does."""
    parts: dict[str, set[str]] = {}
    for file in FILES.values():
        parts.setdefault(file.stem, set()).update(other.stem for other in included(file) if other.stem != file.stem)
    try:
        TopologicalSorter(parts).prepare()
    except CycleError as error:
        pytest.fail(f"includes run in a circle: {' <- '.join(error.args[1])}")


@pytest.mark.parametrize("file", CHECKED, ids=lambda file: str(file.relative_to(ROOT)))
def test_files_and_functions_are_small(file: Path) -> None:
    text = file.read_text()
    assert len(text.splitlines()) <= MOST_LINES
    assert not list(long_functions(text))
    if file.is_relative_to(SOURCES):
        assert text.startswith("// "), f"{file.relative_to(ROOT)} does not say what it is for"


def test_a_long_function_is_found() -> None:
    body = "  call();\n" * MOST_LINES_OF_FUNCTION
    assert list(long_functions(f"void f() {{\n{body}}}\n")) == [("void f() {", MOST_LINES_OF_FUNCTION + 2)]
    assert not list(long_functions("namespace {\nvoid f() {\n  call();\n}\n" + "\n" * 100 + "}\n"))


def test_types_of_the_analysis_have_few_data_members() -> None:
    """A class with many knows several things, and is to be cut by what it knows."""
    found: dict[str, int] = {}
    for file in FILES.values():
        if folder_of(file).startswith("analysis/"):
            found |= data_members(file.read_text())
    assert {name: count for name, count in found.items() if count > MOST_DATA_MEMBERS} == LARGE_TYPES


def test_data_members_are_counted() -> None:
    text = """
    struct Point { int x, y; };
    class Line : public Shape {
     public:
      explicit Line(Point start) : start_(start), ends_{1, 2} { draw(); }
      Line(const Line&) = delete;
      Line& operator=(const Line&) = delete;
      int length() const { return a_ < b_ ? 1 : 0; }
      template <bool kQuick> void move(int to);
      static constexpr int kMost = 3;
      using Points = std::map<int, Point>;

     private:
      struct Inner { int one; };  // is; no; member
      Point start_;
      int a_ = 0, b_ = 1 << 3;
      std::map<std::pair<int, int>, Point> points_[2];
      int* first_ = &ends_[{0, 0}];
      std::vector<int> ends_ = {1, 2};
    };"""
    assert data_members(text) == {"Point": 2, "Inner": 1, "Line": 6}
