"""What is declared of libraries: every file is in the list, and every name that it declares is in the library."""

import sys
from pathlib import Path

import pytest
from declared_names import FOUND, LACKED, LACKING, NOT_HERE, Report, declared, has, looked_up

from rlscope import libraries
from rlscope.libraries import LIBRARIES


def test_every_file_is_in_the_list_and_declares_something() -> None:
    folder = Path(libraries.__file__).parent
    assert {f"rlscope.libraries.{file.stem}" for file in folder.glob("*.py")} - {"rlscope.libraries.__init__"} == set(
        LIBRARIES
    )
    assert not [file for file in LIBRARIES if not declared(file)]


@pytest.mark.parametrize(
    ("file", "dotted"),
    [
        ("envpool", "envpool.python.envpool.EnvPoolMixin._recv"),
        ("rsl_rl", "rsl_rl.runners.on_policy_runner.OnPolicyRunner.env.step"),
    ],
)
def test_what_subclasses_have_and_what_instances_hold_is_looked_for_too(file: str, dotted: str) -> None:
    assert dotted in [name for _, name in declared(f"rlscope.libraries.{file}")]


class Environment:
    def step(self) -> None: ...


class Trainer:
    def __init__(self, env: "Environment") -> None: ...


class NativeTrainer(Trainer):
    def send(self) -> None: ...


@pytest.mark.parametrize(
    ("name", "found"), [("Trainer.send", FOUND), ("Trainer.env.step", FOUND), ("Trainer.env.stop", LACKING)]
)
def test_a_name_is_found_in_a_subclass_and_in_what_is_held(name: str, found: str) -> None:
    assert has(__name__, f"{__name__}.{name}") == found


@pytest.mark.parametrize("file", LIBRARIES)
def test_a_file_is_read_for_the_packages_that_it_waits_for(file: str) -> None:
    assert {module.partition(".")[0] for module, _ in declared(file)} == set(LIBRARIES[file])


@pytest.fixture(scope="module")
def found_here() -> Report:
    return looked_up(sys.executable)


@pytest.mark.parametrize("file", LIBRARIES)
def test_every_name_that_is_declared_is_in_the_library(file: str, found_here: Report) -> None:
    names = found_here[file]
    assert set(names[LACKING]) <= set(LACKED)
    if not names[FOUND]:
        pytest.skip(f"{', '.join(LIBRARIES[file])} cannot be imported: {len(names[NOT_HERE])} names are not looked for")
