"""Every command of every page: what everybody can run at once is run, the rest is parsed or tried with --dry-run.

The commands of a page run in a folder of its own, in their order, beside the files that its reader is asked to save.
A block with a title, such as "needs a GPU" or "takes hours", is not run.
"""

import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import click
import pytest
from asked_for import with_slow
from documents.pages import NAMES, PAGES, ROOT, Command, commands, files, inline_commands

from experiments.command_line import ARTIFACTS, make_parser
from rlscope.cli.main import verbs

#: What some pages call `train.py` or `envs.my` without showing it.
TRAIN = files(ROOT / "docs" / "tutorials" / "own-script.md")["train.py"]
ENVS = "class Env:\n    def step(self):\n        pass\n"


def parse_rlscope(words: Sequence[str], runs: Callable[[Sequence[str]], None] | None) -> None:
    """Runs a verb where that is possible, else parses its options and arguments."""
    if runs:
        runs(words)
        return
    with click.Context(verbs) as context:
        verb = verbs.get_command(context, words[1])
        assert verb, f"there is no verb {words[1]}"
        try:
            verb.make_context(words[1], list(words[2:]))
        except click.BadParameter as error:
            assert "does not exist" in str(error), error.format_message()  # a trace of a command that was not run


def dry_make(words: Sequence[str]) -> None:
    """`make --dry-run` prints what it would do, and fails where a target is not known."""
    finish([*words, "--dry-run"])


def try_study(command: Command) -> None:
    """The study behind a script parses its options; where everybody can run it at once, it prints its runs.

    The script itself would compile first.
    """
    script = ROOT / command.words[0]
    assert os.access(script, os.X_OK), f"{script} cannot be executed"
    arguments = list(command.words[1:])
    make_parser(None, ARTIFACTS).parse_args(arguments)
    if not command.title:
        study = script.stem.removeprefix("experiment_")
        finish([sys.executable, "-m", f"experiments.{study}.run", *arguments, "--dry-run"])


def dry_docker(words: Sequence[str]) -> None:
    """`run_docker.py --dry-run` prints what it would do."""
    finish([sys.executable, *words[1:2], "--dry-run", *words[2:]])


def parse_pip(words: Sequence[str]) -> None:
    """Nothing is installed: the files that are named exist."""
    assert words[1] == "install"
    assert all((ROOT / file).is_file() for option, file in pairwise(words) if option == "-r")


def parse_ray(words: Sequence[str]) -> None:
    """A cluster is not started: its command parses the options."""
    command = importlib.import_module("ray.scripts.scripts").cli.commands[words[1]]
    command.make_context(words[1], list(words[2:]))


def finish(words: Sequence[str], **options: object) -> None:
    """Runs something in the checkout unless told otherwise, and expects that it succeeds."""
    settings = {"cwd": ROOT, "env": {**os.environ, "PYTHONPATH": str(ROOT)}, **options}
    finished = subprocess.run(list(words), capture_output=True, text=True, check=False, **settings)  # type: ignore[call-overload]
    assert finished.returncode == 0, f"{' '.join(words)}\n{finished.stdout[-2000:]}\n{finished.stderr[-2000:]}"


def check(command: Command, runs: Callable[[Sequence[str]], None]) -> None:
    """Runs a command, or tries it, by the program that it calls."""
    words = command.words
    program = Path(words[0]).name
    if program == "rlscope":
        parse_rlscope(words, None if command.title else runs)
    elif program == "make":
        dry_make(words)
    elif words[0].startswith("scripts/experiment_"):
        try_study(command)
    elif words[:2] == ("python", "run_docker.py"):
        dry_docker(words)
    elif program == "pip":
        parse_pip(words)
    elif program == "ray":
        parse_ray(words)
    elif program == "python" and words[1].startswith("experiments/workloads/"):
        finish([sys.executable, *words[1:], "--help"])  # argparse checks what stands before it
    elif words[0] == ".venv-bench/bin/python":
        finish([sys.executable, *words[1:]])
    elif program == "eval":
        runs(["bash", "-c", f'text="{words[1]}" && [[ $text ]] && eval "$text"'])
    elif program == "export":
        assert all("=" in word for word in words[1:])
    else:
        pytest.fail(f"expected a program that this test can try, found {words[0]}; add it beside the others in check()")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the commands of a page run."""
    (tmp_path / "experiments").symlink_to(ROOT / "experiments")
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "envs").mkdir()
    (tmp_path / "envs" / "my.py").write_text(ENVS)
    return tmp_path


@pytest.mark.parametrize(
    "page",
    with_slow([page for page in PAGES if commands(page)], {ROOT / "docs" / "compare.md"}),
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_the_commands_of_a_page_work(page: Path, folder: Path) -> None:
    for name, text in files(page).items():
        (folder / name).write_text(text)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def runs(words: Sequence[str]) -> None:
        # Not in the checkout, whose rlscope/ a Python there would find in the place of the installed one.
        finish(words, cwd=folder, env={**os.environ, "PATH": path})

    for command in commands(page):
        check(command, runs)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_options_inside_of_sentences_exist(page: Path) -> None:
    for text in inline_commands(page):
        words = text.split(" -- ")[0].split()
        with click.Context(verbs) as context:
            verb = verbs.get_command(context, words[1])
        assert verb, text
        known = {name for parameter in verb.params for name in (*parameter.opts, *parameter.secondary_opts)}
        options = {word.split("=")[0] for word in words if word.startswith("--")}
        assert options <= known | {"--help"}, text
