"""What `scripts/new` begins, filled in as CONTRIBUTING.md says, passes the tests of its kind."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
#: What the tests of the kinds read. Compiled modules come along in the package.
COPIED = (
    "rlscope", "src", "cmake", "scripts", "tests", "benchmarks", "experiments", "docs", "CMakeLists.txt",
    "pyproject.toml", "README.md", "ARTIFACT.md",
)  # fmt: skip
LIBRARIES = "tests/unit/test_libraries.py"
#: By kind: a name, for modules of which nothing is declared, what is filled in, which tests are run, and how many.
BEGUN: dict[str, tuple[str, dict[str, str], tuple[str, ...], int]] = {
    "library": (
        "colorsys",
        {"NAME.step()": "NAME.rgb_to_hsv(1, 1, 1)", '"step"': '"rgb_to_hsv"'},
        ("-k", "every_file or colorsys and not every_name", LIBRARIES, "tests/integration/test_colorsys.py"),
        3,
    ),
    "simulator": (
        "cmath",
        {"NAME.step()": "NAME.sqrt(-1)", "NAME.step": "NAME.sqrt"},
        ("-k", "every_file or cmath and not every_name", LIBRARIES, "tests/integration/test_cmath.py"),
        3,
    ),
    "stage": ("reanalysis", {}, ("-k", "reanalysis or Stage", "tests/unit/test_vocabulary.py"), 8),
    "table": (
        "wall_times",
        {},
        ("-k", "wall_times or the_files", "tests/unit/test_analysis_golden.py", "tests/unit/test_schemas.py"),
        4,
    ),
    "claim": (
        "algorithm_choice.share_of_nothing",
        {},
        ("-k", "algorithm_choice and (claims or range)", "tests/unit/test_experiments_studies.py"),
        2,
    ),
    "rule": ("rls2.hashing", {}, ("-k", "hashing or RLS212", "tests/unit/test_rules.py"), 2),
    "export": ("jsonlines", {}, ("tests/unit/test_export_jsonlines.py",), 1),
}
RECORD = "page_faults"


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what is needed of the checkout."""
    return copy_into(tmp_path_factory.mktemp("checkout"))


def copy_into(copy: Path) -> Path:
    for name in COPIED:
        source = CHECKOUT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, copy)
    return copy


def run(copy: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    """Runs a Python program on the copy."""
    return subprocess.run(
        [sys.executable, *command],
        cwd=copy, env=os.environ | {"PYTHONPATH": str(copy)}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def fill_in(path: Path, name: str, filled: Mapping[str, str]) -> None:
    """Does what a person does who knows the library."""
    text = path.read_text()
    for before, after in filled.items():
        text = text.replace(before.replace("NAME", name), after.replace("NAME", name))
    path.write_text(text)


@pytest.mark.parametrize("kind", BEGUN)
def test_what_is_begun_passes_the_tests_of_its_kind(kind: str, copied: Path) -> None:
    name, filled, tests, count = BEGUN[kind]
    begun = run(copied, "scripts/scaffold.py", kind, name)
    assert begun.returncode == 0, begun.stderr
    touch_modules(copied)
    written = written_by(begun)
    for state, path in written:
        if state == "new":
            fill_in(copied / path, name, filled)
    check_style(copied, [path for _, path in written])
    assert_pass(copied, count, *tests)


def touch_modules(copy: Path) -> None:
    """Makes compiled modules as new as `make build` leaves them."""
    for module in (copy / "rlscope").glob("*.so"):
        module.touch()


def written_by(begun: "subprocess.CompletedProcess[str]") -> list[tuple[str, str]]:
    """Which files it says are new and changed."""
    lines = (line.partition(": ") for line in begun.stdout.splitlines()[:-1])
    return [(state, path) for state, _, path in lines]


def check_style(copy: Path, written: list[str]) -> None:
    for way in ("check", "format --check"):
        modules = [path for path in written if path.endswith(".py")]
        style = run(copy, "-m", "ruff", *way.split(), "--no-cache", *modules) if modules else None
        assert style is None or style.returncode == 0, style.stdout


def assert_pass(copy: Path, count: int, *tests: str) -> None:
    tested = run(copy, "-m", "pytest", "-q", "-n", "0", *tests)
    assert tested.stdout.splitlines()[-1].startswith(f"{count} passed"), tested.stdout


@pytest.fixture
def with_record(tmp_path: Path) -> Path:
    """A copy with a record more, of which the compiled modules know nothing."""
    copy = copy_into(tmp_path)
    begun = run(copy, "scripts/scaffold.py", "record", RECORD)
    assert begun.returncode == 0, begun.stderr
    check_style(copy, [path for _, path in written_by(begun)])
    return copy


def test_a_record_that_is_begun_is_in_each_home_of_the_format(with_record: Path) -> None:
    generated, folders = with_record / "generated", [path for path in (with_record / "src").rglob("*") if path.is_dir()]
    declaring = sorted(str(path.relative_to(with_record)) for path in with_record.glob("rlscope/analysis/**/swept*.py"))
    run(with_record, "cmake/tagged_records.py", "generated/tagged_records.h")
    run(with_record, "cmake/swept_rows.py", "generated/swept_rows.h", *declaring)
    options = ["-std=c++20", "-fsyntax-only", *(f"-I{folder}" for folder in [with_record, generated, *folders])]
    sources = "".join(f'#include "src/analysis/sweep/{name}.cpp"\n' for name in ("sweep", "reports"))
    compiled = subprocess.run(
        ["g++", *options, "-x", "c++", "-"], cwd=with_record, input=sources, capture_output=True, text=True, check=False
    )
    assert compiled.returncode == 0, compiled.stderr
    touch_modules(with_record)
    schemas = "tests/unit/test_schemas.py::test_the_files_are_those_that_the_classes_give"
    assert_pass(with_record, 35, "tests/unit/test_trace_format_sources.py", schemas)


@pytest.mark.slow  # compiles
def test_a_record_that_is_begun_is_read(with_record: Path) -> None:
    build = ["cmake", "--build", "build", "--target", "_analysis", "--parallel", "2"]
    options = ["-DRLSCOPE_IN_PLACE=ON", "-DCMAKE_BUILD_TYPE=Release", f"-DPython_EXECUTABLE={sys.executable}"]
    for command in (["cmake", "-S", ".", "-B", "build", *options], build):
        built = subprocess.run(command, cwd=with_record, capture_output=True, text=True, check=False)
        assert built.returncode == 0, built.stderr + built.stdout
    touch_modules(with_record)
    assert_pass(with_record, 3, "-k", RECORD, "tests/unit/test_analysis_golden.py")


@pytest.mark.parametrize(
    ("kind", "name", "there"),
    [
        ("library", "torch", "rlscope/libraries/torch.py"),
        ("table", "crossings", "rlscope/analysis/tables/crossings.py"),
        ("stage", "inference", "src/core/format/vocabulary.h"),
        ("record", "crossings", "rlscope/analysis/tables/crossings.py"),
        ("export", "folded", "rlscope/export/folded.py"),
        ("claim", "algorithm_choice.python_to_simulator", "experiments/algorithm_choice/claims.toml"),
        ("claim", "no_study.metric", "no_study.metric"),
        ("rule", "hashing", "KIND.NAME"),
    ],
)
def test_what_is_there_stays(kind: str, name: str, there: str, copied: Path) -> None:
    refused = run(copied, "scripts/scaffold.py", kind, name)
    assert (refused.returncode, there in refused.stderr) == (1, True)


def test_a_name_is_one_of_a_module(copied: Path) -> None:
    refused = run(copied, "scripts/scaffold.py", "table", "Wall-times")
    assert (refused.returncode, "'Wall-times'" in refused.stderr) == (2, True)
