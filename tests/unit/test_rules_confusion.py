"""Rules name what is slow in programs that their authors did not write: the table of `make rules`."""

import pytest
from rules import confusion

#: The goal, of the faults whose traces are kept. A change that names fewer has to say why.
NAMED = 0.85
#: Findings on programs as they are of which nobody has shown that they are right; the goal is a tenth of them all.
WRONG = 1


@pytest.fixture(scope="module")
def programs() -> list[confusion.Judged]:
    return list(confusion.judged())


def test_faults_are_named_by_their_rules(programs):
    """The share of faults that cost something and are among the first findings does not fall."""
    faults = [program for program in programs if program.counts]
    named = [program for program in faults if program.rank is not None and program.rank <= confusion.SHOWN]
    assert len(faults) >= 40
    assert len(named) / len(faults) >= NAMED


def test_few_findings_on_programs_as_they_are(programs):
    """Programs without a fault get no more findings than they had."""
    assert sum(len(program.wrong) for program in programs if not program.code) <= WRONG


def test_each_trace_is_of_a_program(programs):
    """A trace that no host or patch makes again would judge rules by something unknown."""
    known = {path.stem for path in (*confusion.HERE.glob("hosts/*.py"), *confusion.HERE.glob("faults/*.patch"))}
    assert {program.program for program in programs} <= known


def test_hosts_and_faults_of_the_table_are_those_judged(programs):
    """The page says of each fault what was judged."""
    page = confusion.table(programs)
    assert all(f"| {each.code} | {each.program[7:]} |" in page for each in programs if each.code)
