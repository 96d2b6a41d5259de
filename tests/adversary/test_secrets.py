"""Secrets on a command line: no page that is made of a trace shows them, for pages are sent around."""

import json
import shlex
from pathlib import Path

import pytest
from adversary_runs import MANIFEST, call, small_trace

import rlscope
from rlscope.plots.drawing import Drawing
from rlscope.text.commands import without_secrets

SECRET = "sk-0123456789"
#: Each with what a page shows.
COMMANDS = [
    (["python", "train.py", "--api-key", SECRET, "--seed", "3"], "python train.py --api-key … --seed 3"),
    (["python", "train.py", f"--api-key={SECRET}"], "python train.py --api-key=…"),
    (["python", "train.py", "--hf_token", SECRET], "python train.py --hf_token …"),
    (["python", "train.py", "-token", SECRET], "python train.py -token …"),
    (["python", "train.py", f"--client-secret=a b {SECRET}"], "python train.py --client-secret=…"),
    (["python", "train.py", "--DB_PASSWORD", SECRET], "python train.py --DB_PASSWORD …"),
    (["env", f"WANDB_API_KEY={SECRET}", "python", "train.py"], "env WANDB_API_KEY=… python train.py"),
    (["python", "train.py", f"logger.token={SECRET}"], "python train.py logger.token=…"),
    (["docker", "run", f"--env=API_KEY={SECRET}", "image"], "docker run '--env=API_KEY=…' image"),
    (["curl", f"https://host/?token={SECRET}&part=2"], "curl 'https://host/?token=…&part=2'"),
    (["python", "t.py", "--config", f'{{"api_key": "{SECRET}", "n": 3}}'],
     """python t.py --config '{"api_key": …, "n": 3}'"""),
    (["sh", "-c", f"API_KEY='a {SECRET}' python train.py --seed 3"], "sh -c 'API_KEY=… python train.py --seed 3'"),
    (["sh", "-c", f"cd base && python train.py --password {SECRET} -v"],
     "sh -c 'cd base && python train.py --password … -v'"),
    (["sh", "-c", f'train --password "a\\"{SECRET}'], "sh -c 'train --password …'"),
]  # fmt: skip
UNCHANGED = (
    "python train.py --seed 3", "python train.py --use-key --seed 3", "python train.py --key", "python train.py key 3",
    "sh -c 'monkey run && turnkey'",
)  # fmt: skip


@pytest.mark.parametrize(("words", "shown"), COMMANDS, ids=[shown for _, shown in COMMANDS])
def test_a_value_behind_such_a_name_is_not_shown(words: list[str], shown: str) -> None:
    assert without_secrets(words) == shown


@pytest.mark.parametrize("shown", UNCHANGED)
def test_other_words_stay(shown: str) -> None:
    assert without_secrets(shlex.split(shown)) == shown


@pytest.mark.parametrize(
    "text", ["key", "key ", "-key  ", 'key="', "key='", "key=\\", "key=a;", "a", "-", "key" + " " * 50]
)
def test_a_command_of_any_length_is_shown(text: str) -> None:
    """In time that grows as its length: a trace may come from anybody."""
    for words in ([text * 5_000], ["sh", "-c", text * 5_000], [text] * 5_000):
        without_secrets(words)


def test_no_page_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Drawing, "write", lambda drawing: None)  # which takes longest, and is given no command
    trace = small_trace(tmp_path / "trace")
    command = [word for words, _ in COMMANDS for word in words]
    (trace / "manifest.json").write_text(json.dumps({**MANIFEST, "command": command}))
    for words in (
        ("report", trace, "-o", tmp_path / "report"),
        ("report", trace, trace, "-o", tmp_path / "page.html"),
        ("compare", trace, trace, "--html", tmp_path / "compared.html"),
    ):
        finished = call(*words)
        assert finished.returncode == 0, finished.stderr
    (tmp_path / "notebook.html").write_text(rlscope.analyze(trace).page().html)
    pages = [*tmp_path.glob("*.html"), *tmp_path.glob("report/*")]
    assert {"index.html", "figures.html"} < {path.name for path in pages}
    assert not [path.name for path in pages if SECRET.encode() in path.read_bytes()]
    assert "--api-key …" in (tmp_path / "page.html").read_text()
