"""Judges rules by kept traces of hosts and of their faults, and writes the table of which rule named which fault."""

from __future__ import annotations

import json
import os
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rules.recording import FAULTS, host_of, written

import rlscope

HERE = Path(__file__).parent
TRACES, MEASURED, REPAIRED = HERE / "traces", HERE / "measured.json", HERE / "repaired.json"
PAGE = HERE.parents[1] / "docs" / "rules" / "measured.md"
#: What a page shows first.
SHOWN = 3
#: A fault that costs less than this is none: its rule need not name it.
COSTS = 1.15
#: Causes of time in which a program does not train, or that others make.
NO_TRAINING = ("starting_up", "afterwards", "recording", "no_core")
#: A change is right that brings so much of what was said.
_HALF = 0.5
#: Said of the machine on which the traces were recorded, which other programs shared: true, and no rule's error.
OF_THE_MACHINE = {"RLS102"}


@dataclass(frozen=True)
class Judged:
    """What rules found in a program.

    Attributes:
        program: A host, or a fault: `RLS202_actor_critic`.
        found: The codes of the findings about the program, the first being worth most.
        right: Those of them that are true of the host as it is.
        factor: How many times as long the fault trained as its host, without waits for a core; None of a host.
        costs: The same as text, with the range and number of pairs where they are by a stopwatch.
    """

    program: str
    found: tuple[str, ...]
    right: frozenset[str]
    factor: float | None
    costs: str

    @property
    def code(self) -> str:
        """The rule that has to name the fault; empty of a host."""
        return self.program[:6] if self.program.startswith("RLS") else ""

    @property
    def rank(self) -> int | None:
        """At which place the fault is named by its rule, from 1."""
        return self.found.index(self.code) + 1 if self.code in self.found else None

    @property
    def counts(self) -> bool:
        """Whether this is a fault that costs enough to be named."""
        return self.factor is not None and self.factor >= COSTS

    @property
    def wrong(self) -> tuple[str, ...]:
        """The findings that are neither of the fault nor right of its host."""
        return tuple(code for code in self.found if code != self.code and code not in self.right)


def judged() -> Iterator[Judged]:
    """Judge each kept trace."""
    measured, repaired = json.loads(MEASURED.read_text()), json.loads(REPAIRED.read_text())
    seconds: dict[str, float] = {}
    right: dict[str, frozenset[str]] = {}
    # Hosts first, whose names are in lower case.
    for archive in sorted(TRACES.glob("*.tar.xz"), key=lambda path: (path.name.startswith("RLS"), path.name)):
        program = archive.name.removesuffix(".tar.xz")
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(archive) as packed:
                packed.extractall(folder, filter="data")
            written(program, Path(folder))
            os.chdir(folder)  # where the program's source is looked for
            analysis = rlscope.analyze(Path(folder) / "trace")
            os.chdir(HERE)
        host = host_of(program)
        found = tuple(row.code for row in analysis.findings if row.code not in OF_THE_MACHINE)
        seconds[program] = sum(row.seconds for row in analysis.account if row.cause not in NO_TRAINING)
        if program == host:
            brought = {row.code: repaired.get(f"{row.code}_{host}", {}).get("factor") for row in analysis.findings}
            right[host] = frozenset(
                row.code
                for row in analysis.findings
                if row.share is not None and (factor := brought[row.code]) and 1 - 1 / factor >= _HALF * row.share
            )
        lines = added_lines(program)
        said = right[host] | {row.code for row in analysis.findings if row.file == f"{host}.py" and row.line in lines}
        by_stopwatch = measured.get(program)
        if program == host:
            yield Judged(program, found, said, None, "")
        elif by_stopwatch is not None:
            yield Judged(program, found, said, by_stopwatch["factor"], factor_text(by_stopwatch))
        else:
            factor = seconds[program] / seconds[host]
            yield Judged(program, found, said, factor, f"{factor:.2f} times, by traces")


def added_lines(program: str) -> frozenset[int]:
    """Return the lines of a program that its fault has added: a finding there is of the fault."""
    patch = FAULTS / f"{program}.patch"
    lines: set[int] = set()
    number = 0
    for line in patch.read_text().splitlines() if patch.exists() else ():
        if line.startswith("@@"):
            number = int(line.partition("+")[2].partition(",")[0])
        elif not line.startswith(("-", "+++")):
            lines |= {number} if line.startswith("+") else set()
            number += 1
    return frozenset(lines)


def factor_text(found: dict[str, float]) -> str:
    """Say how many times as long a fault took, with the range of the pairs: `2.11 times (0.91 to 2.29, 3 pairs)`."""
    return f"{found['factor']:.2f} times ({found['low']:.2f} to {found['high']:.2f}, {found['runs']} pairs)"


def table(programs: list[Judged]) -> str:
    """Return the page: shares, a row per fault, and what was found on clean hosts."""
    faults, hosts = [p for p in programs if p.counts], [p for p in programs if not p.code]
    named = [p for p in faults if p.rank and p.rank <= SHOWN]
    first = [p for p in faults if p.rank == 1]
    on_hosts, wrong = sum(len(p.found) for p in hosts), sum(len(p.wrong) for p in hosts)
    others = sum(len(p.wrong) for p in faults)
    lines = [
        "# How well rules name what is slow",
        "",
        "`make rules` writes this page. Small programs in the style of published examples are hosts, and a fault is a",
        "patch on a host; who wrote them had not read the code of the rules. Traces of all are kept in",
        "`tests/rules/traces`; `make rules RECORD=1` records them anew. The goal: 85 % of the faults are among the",
        "first three findings, and at most one finding in ten is wrong on programs as they are. A finding on such a",
        "program is right where its change (`tests/rules/repairs`) was made, and brought at least half of what was",
        "said.",
        "On a program with a fault, a finding on a line that the fault has added is about the fault.",
        "",
        "Traces of more than 340 KB are not in the repository; their faults are judged where they are recorded.",
        "Beside others that wanted the same cores a stopwatch stood still while the program had no core.",
        "",
        f"Of {len(faults)} faults, {len(first)} are named first by their rule, {len(named)} among the first {SHOWN} "
        f"({len(named) / max(1, len(faults)):.0%}).",
        f"On {len(hosts)} programs as they are, {wrong} of {on_hosts} findings were not shown to be right. Programs "
        "with a fault",
        f"have {others} findings besides that are neither their fault nor right of their host.",
        "",
        "| fault | host | costs | named | other findings |",
        "|---|---|---|---|---|",
    ]
    for p in programs:
        if p.code:
            named_at = {None: "not", 1: "first"}.get(p.rank, f"{p.rank}.") if p.counts else "costs too little"
            lines.append(f"| {p.code} | {p.program[7:]} | {p.costs} | {named_at} | {', '.join(p.wrong)} |")
    lines += ["", "| program as it is | findings that are right | not shown to be right |", "|---|---|---|"]
    for p in hosts:
        lines.append(f"| {p.program} | {', '.join(c for c in p.found if c in p.right)} | {', '.join(p.wrong)} |")
    lines += ["", "| change made in a program as it is | brought |", "|---|---|"]
    for name, found in json.loads(REPAIRED.read_text()).items():
        lines.append(f"| {name[:6]} in {name[7:]} | {factor_text(found)} |")
    return "\n".join(line.rstrip() for line in lines) + "\n"


if __name__ == "__main__":
    page = table(list(judged()))
    PAGE.write_text(page)
    print(page)
