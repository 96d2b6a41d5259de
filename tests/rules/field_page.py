"""Writes the page of what rules find in programs that nobody wrote for them, and measures what their changes bring."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import tempfile
from pathlib import Path
from typing import Any

import tomllib
from rules.confusion import OF_THE_MACHINE
from rules.field import FOUND, HERE, ROOT, VARIABLES, command_in, programs

from rlscope.signals import held_signals
from rlscope.text.numbers import percent

#: What was tried of what was found, and what it brought.
TRIED, MEASURED = HERE / "tried.toml", HERE / "tried.json"
PAGE = ROOT / "docs" / "rules" / "field.md"
HEAD = """# What rules find in programs as they are

`make field` writes this page. It has the workloads of the case studies and published examples of libraries, which
nobody wrote for rules. `make field RECORD=1` records each for {seconds} seconds at most, one after the other. What
`rlscope check --json` says is kept in `tests/rules/field.json`. `make field TRY=1` makes the changes of
`tests/rules/tried.toml`, and measures them as [`rlscope try`](../try.md) does. The study gpu_utilization needs a GPU,
and is not here.

*At most* is the bound that a finding says. *Measured* is how many times as fast the same steps or updates were with
the change. It is the median of pairs in turns, with their range. A finding holds where at least half of the saving
that it says was measured in each pair, and it is open where pairs differ in that. One without a bound promises
nothing. Programs were recorded beside others that shared the two cores, and trainings are short: what comes once, such
as a first update, has a larger share than in a long run.

"""


def tried() -> list[dict[str, Any]]:
    """Return what is to be tried, with what was measured of it."""
    measured = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    return [each | measured.get(key_of(each), {}) for each in tomllib.loads(TRIED.read_text())["tried"]]


def key_of(each: dict[str, Any]) -> str:
    """Return the name of what is tried in `tried.json`."""
    return f"{each['program']} {each['code']}"


def measure(each: dict[str, Any], environments: Path, pairs: int, mask: set[Any]) -> dict[str, Any]:
    """Run a program as it is and with a change in turns; return how many times as fast the change makes it."""
    # Here, where signals are held: threads of NumPy and SciPy would take them if they began before.
    from rlscope.trial.change import Change
    from rlscope.trial.one_trial import UNKNOWN, Command, Outcome, Part, run_trial

    def run(command: Command, changes: list[Change], part: Part) -> Outcome:
        with contextlib.chdir(command.folder):
            outcome = run_trial(command, changes, part)
        if outcome.failure or any(change.name not in outcome.met for change in changes):
            raise SystemExit(f"{' '.join(command.words)}: {outcome.failure or 'the change met nothing'}")
        return outcome

    program, is_wall = programs()[each["program"]], each.get("clock") == "wall"
    changes = [Change(each["change"])] if "change" in each else []
    is_wall = is_wall or any(change.is_of_wall for change in changes)
    with tempfile.TemporaryDirectory() as temporary:
        commands = []
        for name in ("as_it_is", "changed"):
            folder = Path(temporary, name)
            folder.mkdir()
            words = tuple(command_in(program, environments, folder))
            commands.append(Command(words, folder, network=False, in_place=True, mask=mask))
        for before, after in each.get("edit", ()):
            file = commands[1].folder / each["file"]
            text = file.read_text()
            if before not in text:
                raise SystemExit(f"{file}: {before!r} was expected, found none")
            file.write_text(text.replace(before, after))
        part = Part(*each["part"]) if "part" in each else run(commands[0], [], UNKNOWN).part
        factors = []
        for _ in range(pairs):
            plain, changed = run(commands[0], [], part), run(commands[1], changes, part)
            wall, processor = plain.wall_ns / changed.wall_ns, plain.processor_ns / changed.processor_ns
            factors.append(wall if is_wall else processor)
            print(key_of(each), f"{plain.processor_ns / 1e9:.2f} s, {changed.processor_ns / 1e9:.2f} s", flush=True)
    return {
        "factor": round(statistics.median(factors), 3), "low": round(min(factors), 3), "high": round(max(factors), 3),
        "pairs": pairs, "of": "wall" if is_wall else "processor",
    }  # fmt: skip


def verdict_of(share: float | None, each: dict[str, Any] | None) -> str:
    """Return whether half of the share that is said was saved, or more; `open` where pairs differ in that."""
    if share is None or each is None:
        return ""
    held = {1 - 1 / each[name] >= share / 2 for name in ("low", "factor", "high")}
    return "open" if len(held) > 1 else "yes" if held.pop() else "no"


def page(found: dict[str, Any], trials: list[dict[str, Any]], seconds: float) -> str:
    """Return the page."""
    by_key = {key_of(each): each for each in trials if "factor" in each}
    rows, judged, count, by_median = [], [], 0, 0
    for name in programs():
        if name not in found:
            rows.append(f"| {name} | not recorded | | | | |")
            continue
        about = [row for row in found[name]["findings"] if row["code"] not in OF_THE_MACHINE]
        count += len(about)
        for row in about or [None]:
            first = f"| {name} | {found[name]['seconds']:.0f} s |" if row is (about or [None])[0] else "| | |"
            if row is None:
                rows.append(f"{first} nothing | | | |")
                continue
            each, said = by_key.get(key_of({"program": name, "code": row["code"]})), row["share"]
            judged.append(verdict_of(said, each))
            by_median += bool(each) and verdict_of(said, each | dict.fromkeys(("low", "high"), each["factor"])) == "yes"
            place = f"`{Path(row['file']).name}:{row['line']}`" if row["line"] else ""
            rows.append(
                f"{first} [{row['code']}]({row['code']}.md) {row['name']} {place} | "
                f"{percent(said) if said is not None else ''} | {_measured(each)} | "
                f"{judged[-1]} |"
            )
    with_findings = sum(any(row["code"] not in OF_THE_MACHINE for row in each["findings"]) for each in found.values())
    lines = [
        f"Rules find {count} things in {with_findings} of {len(found)} programs. Of those that were tried, "
        f"{judged.count('yes')} hold, {judged.count('no')} do not, and {judged.count('open')} are open. "
        f"By the median alone {by_median} of them hold.",
        "",
        "| program | recorded | finding | of the training | measured | holds |",
        "|---|---|---|---|---|---|",
        *(" ".join(row.split()) for row in rows),
        "",
        "## What was tried",
        "",
        *(f"- {each['program']}, {each['code']}: {each['how']}" for each in trials if "factor" in each),
    ]
    return HEAD.format(seconds=f"{seconds:.0f}") + "\n".join(lines) + "\n"


def _measured(each: dict[str, Any] | None) -> str:
    if each is None:
        return "not tried"
    return f"{each['factor']:.2f} ({each['low']:.2f} to {each['high']:.2f}, {each['pairs']} pairs, {each['of']} time)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--environments", type=Path, default=ROOT / ".venvs", help="the folder of environments")
    parser.add_argument("--try", dest="is_trying", action="store_true", help="measure what tried.toml lists")
    parser.add_argument("--pairs", type=int, default=3, help="pairs of runs in turns")
    parser.add_argument("keys", nargs="*", help="how what is tried begins; all unless given")
    arguments = parser.parse_args()
    os.environ.update(VARIABLES)
    os.environ.pop("PYTHONPATH", None)  # which the programs would have too
    with held_signals() as mask:
        for each in tried() if arguments.is_trying else ():
            if key_of(each).startswith(tuple(arguments.keys or [""])):
                found = measure(each, arguments.environments.absolute(), arguments.pairs, mask)
                measured = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
                MEASURED.write_text(json.dumps(measured | {key_of(each): found}, indent=1, sort_keys=True) + "\n")
                print(key_of(each), found, flush=True)
    found = json.loads(FOUND.read_text())
    PAGE.write_text(page(found, tried(), max(each.get("limit", 0) for each in found.values())))


if __name__ == "__main__":
    main()
