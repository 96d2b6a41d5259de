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
COPIED = ("rlscope", "src", "scripts", "tests", "benchmarks", "experiments", "docs", "pyproject.toml")
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
}


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what is needed of the checkout."""
    copy = tmp_path_factory.mktemp("checkout")
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
    for module in (copied / "rlscope").glob("*.so"):  # as `make build` leaves them
        module.touch()
    written = [line.split(": ") for line in begun.stdout.splitlines()[:-1]]
    for state, path in written:
        if state == "new":
            fill_in(copied / path, name, filled)
    for way in ("check", "format --check"):
        modules = [path for _, path in written if path.endswith(".py")]
        style = run(copied, "-m", "ruff", *way.split(), "--no-cache", *modules)
        assert style.returncode == 0, style.stdout
    tested = run(copied, "-m", "pytest", "-q", "-n", "0", *tests)
    assert tested.stdout.splitlines()[-1].startswith(f"{count} passed"), tested.stdout


@pytest.mark.parametrize(
    ("kind", "name", "there"),
    [
        ("library", "torch", "rlscope/libraries/torch.py"),
        ("table", "crossings", "rlscope/analysis/tables/crossings.py"),
        ("stage", "inference", "src/core/format/vocabulary.h"),
    ],
)
def test_what_is_there_stays(kind: str, name: str, there: str, copied: Path) -> None:
    refused = run(copied, "scripts/scaffold.py", kind, name)
    assert (refused.returncode, there in refused.stderr) == (1, True)


def test_a_name_is_one_of_a_module(copied: Path) -> None:
    refused = run(copied, "scripts/scaffold.py", "table", "Wall-times")
    assert (refused.returncode, "'Wall-times'" in refused.stderr) == (2, True)
