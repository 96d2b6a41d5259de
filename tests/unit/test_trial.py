"""Trials: what pairs of runs say of a change, whether numbers stayed, who is tried next, and what changes declare."""

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from rlscope.cli.main import verbs
from rlscope.errors import UsageError
from rlscope.report.screen import Screen
from rlscope.report.trials_shown import trial_lines
from rlscope.rules.rule import rules
from rlscope.trial.change import Change, change_names
from rlscope.trial.clock import descendants, processor_ns
from rlscope.trial.document import SCHEMA, Measured, TryDocument, plain
from rlscope.trial.numbers import Kind, compared
from rlscope.trial.one_trial import Outcome, Part
from rlscope.trial.pairs import Verdict, factor_of, verdict_of
from rlscope.trial.plan import Plan
from rlscope.trial.schema import try_schema
from rlscope.trial.turns import Turns


def test_a_factor_is_the_geometric_mean_of_pairs_with_students_interval() -> None:
    factor = factor_of([(2.0, 1.0), (8.0, 1.0)])
    assert factor.value == pytest.approx(4.0)
    # The logs are ln 4 -+ ln 2; half the interval is 12.706 times ln 2, with one degree of freedom.
    assert factor.high is not None and math.log(factor.high / 4) == pytest.approx(12.7062 * math.log(2), rel=1e-4)
    assert factor.low is not None and factor.low * factor.high == pytest.approx(16.0)
    assert factor_of([(3.0, 2.0)]).low is None


@pytest.mark.parametrize(
    ("pairs", "verdict"),
    [
        ([(2.0, 1.0)] * 3, Verdict.OPEN),  # too few, however clear
        ([(2.0, 1.0)] * 4, Verdict.PAYS),
        ([(1.0, 2.0)] * 4, Verdict.SLOWER),
        ([(1.02, 1.0)] * 4, Verdict.LITTLE),
        ([(1.2, 1.0), (1.0, 1.2), (1.3, 1.0), (1.0, 1.3)], Verdict.OPEN),
    ],
)
def test_a_verdict_needs_four_pairs_and_an_interval_without_5_percent(
    pairs: list[tuple[float, float]], verdict: Verdict
) -> None:
    assert verdict_of(factor_of(pairs)) is verdict


@pytest.mark.parametrize(
    ("losses", "sums", "kind", "equal"),
    [
        ([1.0, 2.0, 3.0], [5.0], Kind.SAME, 3),
        ([1.0, 2.0, 3.0 * (1 + 1e-7)], [5.0], Kind.CLOSE, 2),
        ([1.0, 2.0, 3.0], [5.0 * (1 + 1e-9)], Kind.CLOSE, 3),
        ([1.5, 2.0, 3.0], [5.0], Kind.DIFFER, 0),
        ([1.0, math.nan, 3.0], [5.0], Kind.DIFFER, 1),
        ([], [], Kind.NOT_KNOWN, 0),
    ],
)
def test_numbers_are_compared_bit_by_bit_and_then_by_how_far_they_are_apart(
    losses: list[float], sums: list[float], kind: Kind, equal: int
) -> None:
    found = compared([1.0, 2.0, 3.0], losses, [5.0], sums, "losses")
    assert (found.kind, found.equal) == (kind, equal)


def test_numbers_that_are_none_equal_themselves() -> None:
    assert compared([math.nan], [math.nan], [], [], "losses").kind is Kind.SAME


class Machine:
    """Runs a program of which each change divides the time, in the place of a real one."""

    def __init__(self, factors: dict[str, float], **others: Callable[[int], Outcome]) -> None:
        self.factors = factors
        self.others = others
        self.runs: list[tuple[str, ...]] = []

    def run(self, changes: Sequence[Change]) -> Outcome:
        names = tuple(change.name for change in changes)
        self.runs.append(names)
        for name in names:
            if name in self.others:
                return self.others[name](len(self.runs))
        ns = round(1e9 * (1 + 0.001 * (len(self.runs) % 2)) / math.prod(self.factors[name] for name in names))
        met = {name: (f"keep {name}",) for name in names}
        return Outcome(Part("updates", 0, 9), ns, ns, (1.0, 2.0), True, (3.0,), met=met)


def taken(machine: Machine, *names: str, minutes: float = 1.0, threads_first: bool = False) -> Turns:
    turns = Turns(machine.run, minutes, lambda tried: None)
    turns.take([Change(name) for name in names], threads_first)
    return turns


def test_what_pays_most_stays_on_and_the_next_is_tried_on_top_of_it() -> None:
    machine = Machine({"fused": 1.2, "no-logging": 2.0, "no-rendering": 1.0})
    turns = taken(machine, "fused", "no-logging", "no-rendering")
    assert [(each.changes, each.on_top_of, each.verdict) for each in turns.tried] == [
        (("fused",), (), Verdict.PAYS),
        (("no-logging",), (), Verdict.PAYS),
        (("no-rendering",), (), Verdict.LITTLE),
        (("fused",), ("no-logging",), Verdict.PAYS),
        (("no-logging", "fused"), (), Verdict.PAYS),
    ]
    assert [change.name for change in turns.kept] == ["no-logging", "fused"]
    assert turns.tried[-1].factor is not None and turns.tried[-1].factor.value == pytest.approx(2.4, rel=0.01)
    assert turns.is_complete
    # One round forward, one backward, so that a machine that becomes slower is slower for all.
    forward = [(), ("fused",), ("no-logging",), ("no-rendering",)]
    assert machine.runs[:8] == [*forward, *reversed(forward)]


def test_threads_come_first_where_they_take_each_others_cores() -> None:
    turns = taken(Machine({"threads": 5.0, "fused": 1.1}), "threads", "fused", threads_first=True)
    assert [(each.changes, each.on_top_of) for each in turns.tried[:2]] == [
        (("threads",), ()),
        (("fused",), ("threads",)),
    ]


def test_of_two_changes_that_take_each_other_back_one_is_kept() -> None:
    turns = taken(Machine({"one-process": 2.0, "processes": 1.5}), "one-process", "processes")
    assert [change.name for change in turns.kept] == ["one-process"]


def test_a_change_that_fails_or_meets_nothing_is_a_row_without_a_factor() -> None:
    part = Part("updates", 0, 9)
    machine = Machine(
        {"fused": 1.0},
        cpu=lambda number: Outcome(part, failure="RuntimeError: no"),
        processes=lambda number: Outcome(part, 1, 1),
    )
    turns = taken(machine, "cpu", "processes", "fused")
    found = {each.changes[0]: (each.verdict, each.factor, each.pairs, each.why) for each in turns.tried}
    assert found["cpu"] == (Verdict.FAILED, None, 0, "RuntimeError: no")
    assert found["processes"][:3] == (Verdict.NOT_IN_FORCE, None, 0)
    assert machine.runs.count(("cpu",)) == machine.runs.count(("processes",)) == 1


def test_an_unchanged_program_that_fails_is_an_error() -> None:
    def run(changes: Sequence[Change]) -> Outcome:
        return Outcome(Part("updates", 0, 9), failure="KeyError: 1")

    with pytest.raises(UsageError, match="the unchanged program was to run as before, but failed: KeyError: 1"):
        Turns(run, 1.0, lambda tried: None).take([Change("fused")], False)


def test_numbers_of_a_program_that_is_not_seeded_say_nothing() -> None:
    losses = iter(range(1000))

    def run(changes: Sequence[Change]) -> Outcome:
        met = {change.name: ("keep",) for change in changes}
        return Outcome(Part("updates", 0, 9), 1000, 1000, (float(next(losses)),), True, met=met)

    turns = Turns(run, 1.0, lambda tried: None)
    turns.take([Change("fused")], False)
    assert turns.tried[0].numbers is not None and turns.tried[0].numbers.kind is Kind.UNSTEADY


def test_when_the_minutes_have_ended_what_is_not_sure_stays_open() -> None:
    turns = taken(Machine({"fused": 1.2}), "fused", minutes=0.0)
    assert [(each.verdict, each.why) for each in turns.tried] == [(Verdict.OPEN, "the minutes had ended")]
    assert not turns.is_complete


def test_a_document_is_valid_and_shows_each_row() -> None:
    turns = taken(Machine({"fused": 1.2, "no-logging": 1.0}), "fused", "no-logging")
    turns.leave_out(Change("cpu"))
    document = TryDocument(
        SCHEMA,
        ("python", "train.py"),
        "overlay",
        Measured("updates", 0, 9, 1, 1.0, None),
        ("fused", "no-logging", "cpu"),
        tuple(turns.tried),
        ("fused",),
        True,
        ("/me/model.zip",),
    )
    found = json.loads(json.dumps(plain(document)))
    Draft202012Validator(try_schema()).validate(found)
    verdicts = {row["changes"][0]: row["verdict"] for row in found["tried"]}
    assert verdicts == {"fused": "pays", "no-logging": "brings less than 5 %", "cpu": "not in force"}
    shown = " ".join(" ".join(trial_lines(document, Screen())).split())
    assert all(name in shown for name in ("fused", "no-logging", "cpu", "keep fused", "/me/model.zip"))


@pytest.mark.parametrize("name", change_names())
def test_a_change_says_what_it_does_and_what_it_alters(name: str) -> None:
    change = Change(name)
    assert change.title and change.alters
    assert set(change.excludes) <= set(change_names())
    assert isinstance(change.is_of_wall, bool)


def test_rules_name_changes_that_there_are() -> None:
    trials = {rule.trial for rule in rules() if rule.trial}
    assert trials and trials <= set(change_names())


def test_a_plan_survives_the_environment() -> None:
    plan = Plan(("fused",), (), "updates", 3, 9, (5, 6, 7))
    assert vars(Plan.parse(plan.text())) == vars(plan) | {"changes": ("fused",)}


def test_processor_time_stays_that_of_descendants_that_have_ended() -> None:
    before = processor_ns(os.getpid())
    # The grandchild works; its parent waits for it, and goes on.
    grandchild = "import time\nwhile time.process_time() < 0.3: pass"
    code = f"import subprocess, sys, time; subprocess.run([sys.executable, '-c', {grandchild!r}])"
    words = [sys.executable, "-c", f"{code}; print(flush=True); time.sleep(60)"]
    child = subprocess.Popen(words, stdout=subprocess.PIPE)
    with child:
        assert child.stdout is not None
        child.stdout.readline()
        assert processor_ns(os.getpid()) - before >= 290_000_000
        child.kill()


def test_processor_time_has_that_of_descendants() -> None:
    before = processor_ns(os.getpid())
    pid = os.fork()
    if pid == 0:
        while time.process_time() < 0.2:
            pass
        time.sleep(60)
        os._exit(0)
    try:
        assert pid in descendants(os.getpid())
        while processor_ns(os.getpid()) - before < 100_000_000:
            time.sleep(0.01)
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "a command to try was expected"),
        (("--changes", "magic", "--", "true"), "--changes was given magic"),
        (("--changes", "", "--", "true"), "--changes was given none of them"),
    ],
)
def test_a_wrong_request_says_what_was_expected(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    found = CliRunner().invoke(verbs, ["try", *words])
    assert isinstance(found.exception, UsageError) and said in str(found.exception)


def test_changes_are_listed() -> None:
    found = CliRunner().invoke(verbs, ["try", "--list"])
    assert [line.split()[0] for line in found.output.splitlines()] == list(change_names())
