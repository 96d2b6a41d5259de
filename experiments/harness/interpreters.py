"""This file finds the Python of a run: this one, or one that `scripts/install_experiments` makes."""

import importlib.machinery
import importlib.metadata
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

from experiments import CHECKOUT
from rlscope.build import BUILT_FROM, built_from

VENVS = CHECKOUT / ".venvs"


def python_of(venv: str | None, package: str) -> Path | None:
    """Return the Python with which a workload runs.

    Args:
        venv: name of its virtual environment below `.venvs`; None for this Python.
        package: what the workload needs, by the name under which it is imported.

    Returns:
        Its Python; this one where there is no such venv but the package is here, as on machines
        that bring their own; None where the package is in neither. Without rlscope it is of no use.
    """
    own = Path(sys.executable)
    candidates = [own] if venv is None else [VENVS / venv / "bin" / "python", own]
    needed = package, "rlscope"
    has_all = (each for each in candidates if each.exists() and all(has_package(each, name) for name in needed))
    return next(has_all, None)


def has_package(python: Path, package: str) -> bool:
    """Return whether that Python could import a package; it is not started for that."""
    return importlib.machinery.PathFinder.find_spec(package, packages_of(python)) is not None


def version_of(python: Path, distribution: str) -> str:
    """Return the version of a distribution there, "not installed" if it is not."""
    found = next(iter(importlib.metadata.distributions(name=distribution, path=packages_of(python))), None)
    return found.version if found else "not installed"


def built_from_of(python: Path) -> dict[str, Any]:
    """Return what the rlscope there was built from; empty where it is not installed."""
    packages = (Path(path) / "rlscope" for path in packages_of(python))
    package = next((package for package in packages if (package / BUILT_FROM).exists()), None)
    return built_from(package) if package else {}


@cache
def packages_of(python: Path) -> list[str]:
    """Return the directories that hold a Python's packages: where it looks, and those that files *.pth there name."""
    own = paths_of(python)
    named = [line for path in own for file in Path(path).glob("*.pth") for line in file.read_text().splitlines()]
    return [*own, *(line for line in named if line and Path(line).is_dir())]


@cache
def paths_of(python: Path) -> list[str]:
    """Return the directories in which a run with this Python looks for packages; runs do not get PYTHONPATH."""
    if python == Path(sys.executable):
        given = [os.path.abspath(path) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
        return [path for path in sys.path if path not in given]
    return [str(path) for path in (python.parent.parent / "lib").glob("python*/site-packages")]


def how_to_install(venv: str | None, package: str) -> str:
    """Return what to do where `python_of` finds nothing, as the end of a sentence."""
    if venv is None:
        return f"the package {package} is not installed"
    return f"{package} or rlscope is not in .venvs/{venv}, which `scripts/install_experiments` makes"
