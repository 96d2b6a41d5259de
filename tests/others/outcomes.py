"""What a run of a suite came to: one outcome for each test, or for each array of numbers that it saved."""

import subprocess
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

from suites import Suite

#: By name of a test, or of something saved, how it ended or the digest of what it holds.
Outcomes = dict[str, str]
EXIT_STATUS = "exit status"
DIGESTS = Path(__file__).with_name("digests.py")
NOT_PASSED = ("error", "failure", "skipped")


def outcomes_of(suite: Suite, folder: Path, report: Path, status: int) -> Outcomes:
    """Reads what a run left.

    Args:
        suite: what ran.
        folder: its working directory.
        report: the JUnit file of its tests, which a run that crashed may not have written.
        status: of its end; negative for a signal.

    Returns:
        All outcomes, `EXIT_STATUS` among them.
    """
    found = {EXIT_STATUS: str(status)}
    if suite.kind != "script":
        return found | (tests_of(report) if report.exists() else {})
    command = [str(suite.python), str(DIGESTS), str(folder), *suite.saved]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return found | dict(line.rsplit("\t", 1) for line in printed.splitlines())


def printed_lines(printed: Path) -> Outcomes:
    """Each line that a program has printed, by its number."""
    return {f"line {number}": line for number, line in enumerate(printed.read_text().splitlines(), start=1)}


def tests_of(report: Path) -> Outcomes:
    """How each test of a JUnit file ended; of several with the same name, those that follow the first are numbered."""
    seen: Counter[str] = Counter()
    found: Outcomes = {}
    for case in ET.parse(report).iter("testcase"):
        name = ".".join(filter(None, (case.get("classname"), case.get("name"))))
        seen[name] += 1
        key = name if seen[name] == 1 else f"{name} #{seen[name]}"
        found[key] = next((child.tag for child in case if child.tag in NOT_PASSED), "passed")
    return found


def differences(plain: Outcomes, recorded: Outcomes) -> dict[str, tuple[str, str]]:
    """What differs, by name: the outcome without and with recording, "nothing" where there was none."""
    names = sorted(plain.keys() | recorded.keys())
    pairs = {name: (plain.get(name, "nothing"), recorded.get(name, "nothing")) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
