"""The action of GitHub: its script is run as the action runs it, and comments on a stand-in of GitHub's interface."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from compared_runs import write_side
from recording import environment

ACTION = Path(__file__).resolve().parents[2] / ".github" / "actions" / "compare"
SCATTER = (-40, 10, 30)


class GitHub(BaseHTTPRequestHandler):
    """Keeps the comments of one pull request; refuses everybody with another token."""

    def answer(self) -> None:
        server: Any = self.server
        length = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(length)) if length else {}
        server.asked.append((self.command, self.path))
        is_allowed = self.headers["Authorization"] == "Bearer right"
        if is_allowed and self.command == "POST":
            address = f"http://127.0.0.1:{server.server_port}/comments/{len(server.comments)}"
            server.comments.append({"url": address, **body})
        elif is_allowed and self.command == "PATCH":
            server.comments[int(self.path.rsplit("/", 1)[1])] |= body
        found = server.comments if self.path.endswith("page=1") else []
        self.send_response(200 if is_allowed else 403)
        self.end_headers()
        self.wfile.write(json.dumps(found).encode())

    do_GET = do_POST = do_PATCH = answer

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def github() -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), GitHub)
    server.comments, server.asked = [{"url": "", "body": "of somebody else"}], []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def run(tmp_path: Path, github: Any, base: Path, head: Path, token: str = "right", event: str = "pull_request") -> Any:
    """The step of the action, with the variables that its file and GitHub give it."""
    (tmp_path / "event.json").write_text(json.dumps({event: {"number": 7}}))
    variables = environment() | {
        "BASE": str(base), "HEAD": str(head), "FAIL_ABOVE": "5", "FAIL_ABOVE_COUNTS": "2", "TOKEN": token,
        "GITHUB_API_URL": f"http://127.0.0.1:{github.server_port}", "GITHUB_REPOSITORY": "owner/name",
        "GITHUB_EVENT_PATH": str(tmp_path / "event.json"), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }  # fmt: skip
    command = [sys.executable, str(ACTION / "compare.py")]
    return subprocess.run(command, env=variables, cwd=tmp_path, capture_output=True, text=True, check=False)


def side(folder: Path, more: int, first_s: int, scatter: tuple[int, ...] = SCATTER) -> Path:
    return write_side(folder, [{"gymnasium.step": each, "torch.addmm": more} for each in scatter], first_s)


def test_a_slower_change_fails_and_says_so_on_the_pull_request(tmp_path: Path, github: Any) -> None:
    base, head = side(tmp_path / "base", 0, 0), side(tmp_path / "head", 1000, 1)
    finished = run(tmp_path, github, base, head)
    assert finished.returncode == 1, finished.stderr
    body = github.comments[1]["body"]
    assert "head is slower: 10 % more time per iteration" in body and "Gate: **failed**." in body
    assert "| `backpropagation / torch.addmm` | 4 | 5 | +1 | +1 to +1 | yes |" in body
    assert "| `simulation` | 3 | 3 | +0 |" in body
    assert (tmp_path / "summary.md").read_text() == f"{body}\n"


def test_a_later_push_writes_the_same_comment_anew(tmp_path: Path, github: Any) -> None:
    base, head = side(tmp_path / "base", 0, 0), side(tmp_path / "head", 1000, 1)
    run(tmp_path, github, base, head)
    finished = run(tmp_path, github, base, side(tmp_path / "fixed", 0, 1))
    assert finished.returncode == 0, finished.stderr
    assert len(github.comments) == 2 and "Gate: passed." in github.comments[1]["body"]
    assert github.comments[0]["body"] == "of somebody else"
    assert [method for method, _ in github.asked] == ["GET", "GET", "POST", "GET", "PATCH"]


def test_what_is_undecided_is_a_warning(tmp_path: Path, github: Any) -> None:
    base, head = side(tmp_path / "base", 0, 0), side(tmp_path / "head", 0, 1, (-900, 0, 1200))
    finished = run(tmp_path, github, base, head)
    assert finished.returncode == 0
    assert "::warning::whether it is slower by more than 5 % is undecided" in finished.stdout


def test_a_request_that_cannot_be_decided_fails(tmp_path: Path, github: Any) -> None:
    finished = run(tmp_path, github, side(tmp_path / "base", 0, 0) / "run-1", side(tmp_path / "head", 0, 1))
    assert finished.returncode == 2 and github.asked == []
    assert "--fail-above needs 3 runs or more of each side" in finished.stderr


@pytest.mark.parametrize(
    ("token", "event", "said"),
    [
        ("wrong", "pull_request", "::warning::the verdict could not become a comment: HTTP Error 403"),
        ("right", "push", ""),
        ("", "pull_request", ""),
    ],
    ids=["refused", "no pull request", "no comment wanted"],
)
def test_without_a_comment_the_verdict_holds(token: str, event: str, said: str, tmp_path: Path, github: Any) -> None:
    base, head = side(tmp_path / "base", 0, 0), side(tmp_path / "head", 1000, 1)
    finished = run(tmp_path, github, base, head, token, event)
    assert finished.returncode == 1 and said in finished.stdout and len(github.comments) == 1
    assert ("::warning::" in finished.stdout) == bool(said)


def test_names_are_no_markup(tmp_path: Path, github: Any) -> None:
    base, head = side(tmp_path / "base", 0, 0), side(tmp_path / "<b>@all `x`", 1000, 1)
    run(tmp_path, github, base, head)
    assert "\\<b\\>@\u200ball \\`x\\` is slower" in github.comments[1]["body"]


def test_the_script_reads_what_the_action_gives_it() -> None:
    action, script = (ACTION / "action.yml").read_text(), (ACTION / "compare.py").read_text()
    given = set(re.findall(r"^        ([A-Z_]+): \$", action, flags=re.MULTILINE))
    read = set(re.findall(r"environ(?:\[|\.get\()[\"']([A-Z_]+)[\"']", script))
    assert given == {each for each in read if not each.startswith("GITHUB_")} == {
        "BASE", "HEAD", "FAIL_ABOVE", "FAIL_ABOVE_COUNTS", "TOKEN",
    }  # fmt: skip
    inputs = set(re.findall(r"inputs\.([a-z-]+)", action))
    assert inputs == set(re.findall(r"^  ([a-z-]+):$", action.split("runs:")[0], flags=re.MULTILINE))
