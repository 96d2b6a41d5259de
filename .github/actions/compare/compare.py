"""This file compares runs in a job of GitHub: it writes the verdict where people look, and fails above a limit.

Standard library only. What it needs comes as variables: BASE, HEAD, FAIL_ABOVE, FAIL_ABOVE_COUNTS and TOKEN from
action.yml, others from GitHub. Without TOKEN, or outside of a pull request, there is no comment.
"""

import json
import os
import subprocess
import sys
from typing import Any
from urllib.request import Request, urlopen

#: By this the comment of an earlier push is found, which is written anew.
MARK = "<!-- rlscope compare -->"
UNDECIDED = 3
MOST_ROWS = 20
COMMENTS_OF_A_PAGE = 100
PATIENCE_S = 30


def main() -> int:
    """Compare, publish, and return the exit status: 3, which decides nothing, becomes a warning."""
    words = ["rlscope", "compare", os.environ["BASE"], os.environ["HEAD"]]
    words += ["--fail-above", limit] if (limit := os.environ["FAIL_ABOVE"]) else []
    words += ["--fail-above-counts", limit] if (limit := os.environ["FAIL_ABOVE_COUNTS"]) else []
    finished = subprocess.run([*words, "--json"], capture_output=True, text=True, check=False)
    sys.stderr.write(finished.stderr)
    if not finished.stdout:
        return finished.returncode or 1
    document = json.loads(finished.stdout)
    text = "\n".join([MARK, "### RL-Scope: did training get slower?", *map(markdown, document["comparisons"])])
    print(text)
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with open(summary, "a", encoding="utf-8") as file:
            file.write(f"{text}\n")
    try:
        comment(text)
    except (OSError, ValueError) as error:  # a fork's token may not; the verdict holds all the same
        print(f"::warning::the verdict could not become a comment: {one_line(str(error))}")
    if finished.returncode == UNDECIDED:
        print(
            f"::warning::whether it is slower by more than {os.environ['FAIL_ABOVE']} % is undecided: record more runs"
        )
        return 0
    return finished.returncode


def markdown(found: dict[str, Any]) -> str:
    """Return a comparison as Markdown; names stand in code, where they do nothing."""
    factor, unit = (1.0, "s") if max(found["base_s"], found["other_s"]) >= 1 else (1e3, "ms")
    status = {0: "passed", 1: "**failed**", UNDECIDED: "undecided", None: "no limit"}[found["status"]]
    decisions = [f"- {plain(said)}" for said in found["gate"]]
    lines = [f"{plain(found['verdict'])}", "", f"Gate: {status}.", "", *decisions, ""]
    if counts := [row for row in found["counts"] if row["apart"]][:MOST_ROWS]:
        lines += [f"| counted per {found['unit']} | base | head | change |", "|---|---:|---:|---:|"]
        lines += [*map(count_row, counts), ""]
    rows = [row for row in found["rows"] if row["low"] is not None and (row["kind"] == "stage" or row["sure"])]
    if rows:
        lines += [f"| part | base, {unit} | head, {unit} | change | interval | sure |", "|---|---:|---:|---:|---|---|"]
    for row in rows[:MOST_ROWS]:
        cells = [f"{row['base'] * factor:.3g}", f"{row['other'] * factor:.3g}", f"{row['difference'] * factor:+.3g}"]
        interval = f"{row['low'] * factor:+.3g} to {row['high'] * factor:+.3g}"
        lines.append(f"| {name(row)} | {' | '.join(cells)} | {interval} | {'yes' if row['sure'] else 'no'} |")
    lines += ["", *(f"- {plain(caution)}" for caution in found["cautions"])]
    return "\n".join(lines)


def count_row(row: dict[str, Any]) -> str:
    """Return what both sides count how much, as a row of a table."""
    change = row["other"] - row["base"]
    return f"| {name(row, row['counted'])} | {row['base']:,.6g} | {row['other']:,.6g} | {change:+,.6g} |"


def name(row: dict[str, Any], counted: str = "") -> str:
    """Return what a part, or what is counted, is called, as code."""
    if row.get("device") is not None:
        return f"`device {row['device']} busy`"
    last = row.get("name") or row.get("function") or row.get("category") or row.get("cause")
    parts = dict.fromkeys(filter(None, (counted, row["stage"], row.get("operation"), last)))
    text = one_line(" / ".join(parts)).replace("`", "'").replace("|", "\\|")
    return f"`{text}`"


def plain(text: str) -> str:
    """Return a text in which nothing is markup or calls somebody."""
    escaped = "".join(f"\\{each}" if each in "\\`*_{}[]<>|#~" else each for each in one_line(text))
    return escaped.replace("@", "@\u200b")


def one_line(text: str) -> str:
    """Return a text without line ends, which would begin a command of the job's log."""
    return " ".join(text.split())


def comment(text: str) -> None:
    """Comment on the pull request, or write the earlier comment anew.

    Raises:
        OSError: GitHub did not answer, or refused.
        ValueError: it answered what is no JSON.
    """
    token, event = os.environ.get("TOKEN"), os.environ.get("GITHUB_EVENT_PATH")
    if not token or not event:
        return
    with open(event, encoding="utf-8") as file:
        number = json.load(file).get("pull_request", {}).get("number")
    if number is None:
        return
    comments = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}/issues/{number}/comments"
    page = 1
    while found := ask("GET", f"{comments}?per_page={COMMENTS_OF_A_PAGE}&page={page}", token):
        own = next((each["url"] for each in found if each["body"].startswith(MARK)), None)
        if own is not None:
            ask("PATCH", own, token, {"body": text})
            return
        page += 1
    ask("POST", comments, token, {"body": text})


def ask(method: str, address: str, token: str, body: dict[str, str] | None = None) -> Any:
    """Ask GitHub's interface, and return its answer."""
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json"}
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(address, data, headers, method=method), timeout=PATIENCE_S) as answer:
        return json.load(answer)


if __name__ == "__main__":
    sys.exit(main())
