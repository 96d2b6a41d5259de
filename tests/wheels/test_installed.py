"""A wheel in a fresh environment, with no compiler on PATH: it installs, records and shows what was recorded."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import rlscope

ROOT = Path(__file__).resolve().parents[2]
MOST_BYTES = 5_000_000
TRAIN = """
import math, rlscope
with rlscope.operation("inference"):
    print(sum(math.sqrt(number) for number in range(100_000)) > 0)
"""


def python_of(wheel: Path) -> Path:
    """The interpreter that the wheel is for: pyenv's, else the one on PATH."""
    tag = wheel.name.split("-")[2]
    version = f"{tag[2]}.{tag[3:]}"
    if shutil.which("pyenv"):
        asked = subprocess.run(["pyenv", "prefix", version], capture_output=True, text=True, check=False)
        if asked.returncode == 0:
            return Path(asked.stdout.strip(), "bin", "python")
    found = shutil.which(f"python{version}")
    assert found, f"{wheel.name} needs Python {version}: found none by pyenv or on PATH"
    return Path(found)


def test_there_are_wheels() -> None:
    assert list((ROOT / "dist").glob("rlscope-*.whl")), "make the wheels first: make wheels"


def test_the_wheel_is_small_and_says_what_it_needs(wheel: Path) -> None:
    assert wheel.stat().st_size <= MOST_BYTES
    assert wheel.name.split("-")[1] == rlscope.__version__
    assert re.fullmatch(r"manylinux_2_\d+_x86_64", wheel.stem.split("-")[-1])
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"rlscope/py.typed", "rlscope/_native.pyi", "rlscope/librlscope.so", "rlscope/built_from.json"} <= names
    assert not [name for name in names if not name.startswith(("rlscope/", "rlscope-"))]


@pytest.mark.timeout(600)
def test_the_wheel_installs_and_records_without_a_compiler(wheel: Path, tmp_path: Path) -> None:
    fresh = tmp_path / "venv"
    subprocess.run([python_of(wheel), "-m", "venv", fresh], check=True)
    environment = {name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}
    environment |= {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    environment["PATH"] = str(fresh / "bin")

    def run(*command: str) -> str:
        finished = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert finished.returncode == 0, finished.stdout + finished.stderr
        return finished.stdout

    assert not [name for name in ("cc", "gcc", "g++", "c++", "clang") if shutil.which(name, path=environment["PATH"])]
    run("python", "-m", "pip", "install", "--quiet", str(wheel))
    (tmp_path / "train.py").write_text(TRAIN)
    assert run("rlscope", "record", "-o", "trace", "--", "python", "train.py") == "True\n"
    analysis = json.loads(run("rlscope", "analyze", "--json", "trace"))
    assert "inference" in json.dumps(analysis)
    run("rlscope", "report", "trace", "-o", "page.html")
    assert "<td>inference</td>" in (tmp_path / "page.html").read_text()
    assert rlscope.__version__ in run("rlscope", "--version")


@pytest.mark.timeout(600)
def test_the_source_package_builds_with_the_oldest_tools_that_it_claims(source_package: Path, tmp_path: Path) -> None:
    requirements = re.findall(
        r'"([a-z-]+)(?:>=|~=)([0-9.]+)"', (ROOT / "pyproject.toml").read_text().split("[project]")[0]
    )
    assert len(requirements) == 4
    oldest = tmp_path / "oldest.txt"
    oldest.write_text("".join(f"{name}=={version}\n" for name, version in requirements))
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", tmp_path, source_package]
    environment = os.environ | {"PIP_CONSTRAINT": str(oldest)}
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.split("-")[1] == rlscope.__version__
