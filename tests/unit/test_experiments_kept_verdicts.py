"""Claims that held when their verdicts were kept, and differ now."""

import dataclasses
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments import CHECKOUT
from experiments.command_line import Outcome, command_line, exit_status, run_study
from experiments.data_collection import run as data_collection
from experiments.data_collection.measurements import load
from experiments.harness.case_study import CaseStudy
from experiments.harness.provenance import Provenance
from experiments.verdicts import checks
from experiments.verdicts.claims import DIFFERS, HOLDS, NOT_TESTABLE, Claim, Verdict, judge, load_claims, write_claims
from experiments.verdicts.kept_verdicts import MEASURED, broken_claims, with_kept
from experiments.verdicts.other_machines import verdicts_of
from experiments.verdicts.statistics import Estimate, exact
from experiments.verdicts.study_page import StudyPage
from rlscope.errors import UsageError

CLAIM = Claim(
    id="A-13",
    statement="On-policy algorithms simulate more",
    metric="ratio",
    definition="a over b",
    published="3.5",
    hardware="cpu",
    may_differ="another simulator",
    above=2.0,
)
CPU: dict[str, object] = {"cpu": "a processor", "cores": 2, "memory_bytes": 8e9, "kernel": "6.1", "nodes": []}
GPU = CPU | {"gpus": ["NVIDIA H200"]}
HELD, DIFFERED = Estimate(3.0, 2.5, 3.5, 3), Estimate(1.2, 1.0, 1.4, 3)
ACROSS, TOO_FEW = Estimate(1.9, 1.5, 2.5, 3), Estimate(1.2, None, None, 2)


def verdicts_on(
    estimate: Estimate, claim: Claim = CLAIM, subject: str = "walker", provisional: bool = True
) -> list[Verdict]:
    return judge([claim], {subject: {"ratio": estimate}}, claim.hardware, provisional)


def keep(folder: Path, estimate: Estimate, machine: dict[str, object] = CPU, claim: Claim = CLAIM) -> Path:
    """What a machine's run of a study has left, kept in the study's folder."""
    directory = folder / MEASURED / "a_machine"
    directory.mkdir(parents=True)
    origin = Provenance("a command", "2026-11-22", "quick", {}, [machine], {}, [])
    write_claims(verdicts_on(estimate, claim), origin, directory)
    return directory / "claims.json"


def test_a_claim_that_held_and_differs_is_broken(tmp_path: Path) -> None:
    path = keep(tmp_path, HELD)
    assert broken_claims(verdicts_on(DIFFERED), [CPU], tmp_path) == [
        "A-13 (walker) is broken: On-policy algorithms simulate more. It holds if ratio is > 2: "
        f"3 (2.5 to 3.5, n=3 runs) in {path}, 1.2 (1 to 1.4, n=3 runs) now"
    ]


@pytest.mark.parametrize(
    ("kept", "now"),
    [(HELD, HELD), (HELD, ACROSS), (HELD, TOO_FEW), (ACROSS, DIFFERED), (TOO_FEW, DIFFERED), (DIFFERED, DIFFERED)],
)
def test_only_a_clear_change_breaks_a_claim(kept: Estimate, now: Estimate, tmp_path: Path) -> None:
    keep(tmp_path, kept)
    assert broken_claims(verdicts_on(now), [CPU], tmp_path) == []


def test_only_what_is_about_the_same_is_compared(tmp_path: Path) -> None:
    keep(tmp_path, HELD)
    assert broken_claims(verdicts_on(DIFFERED, subject="hopper"), [CPU], tmp_path) == []
    assert broken_claims(verdicts_on(DIFFERED), [GPU], tmp_path) == []
    assert broken_claims(verdicts_on(DIFFERED), [CPU], tmp_path / "another study") == []


def test_results_of_a_gpu_that_are_judged_elsewhere_are_compared_everywhere(tmp_path: Path) -> None:
    claim = dataclasses.replace(CLAIM, hardware="gpu")
    keep(tmp_path, HELD, GPU, claim)
    assert len(broken_claims(verdicts_on(DIFFERED, claim), [CPU], tmp_path)) == 1


def test_what_is_kept_is_judged_by_the_limits_of_now(tmp_path: Path) -> None:
    keep(tmp_path, HELD)
    stricter = dataclasses.replace(CLAIM, above=5.0)
    assert broken_claims(verdicts_on(DIFFERED, stricter), [CPU], tmp_path) == []


def test_a_calculation_that_changes_is_noticed_too(tmp_path: Path) -> None:
    keep(tmp_path, exact(3.0))
    assert len(broken_claims(verdicts_on(exact(1.0)), [CPU], tmp_path)) == 1


@pytest.mark.parametrize("text", ["{", "[]", '{"hardware": [], "claims": [{}], "calculated": []}'])
def test_a_damaged_file_is_named(text: str, tmp_path: Path) -> None:
    path = keep(tmp_path, HELD)
    path.write_text(text)
    with pytest.raises(UsageError, match=r"claims.json: expected the claims.json of a study, found: "):
        broken_claims(verdicts_on(DIFFERED), [CPU], tmp_path)


def test_kept_rows_that_are_read_wrongly_break_the_claims_about_them(tmp_path: Path) -> None:
    kept = load(data_collection.HERE / MEASURED / "h200")
    folder = data_collection.HERE

    def broken(rows: Sequence[Mapping[str, Any]]) -> list[str]:
        results = dataclasses.replace(kept, rows=rows)
        here = dataclasses.replace(kept, device="cpu", rows=[])
        verdicts = verdicts_of(load_claims(folder / "claims.toml"), here, [results], data_collection.measured_metrics)
        return broken_claims(verdicts, [CPU], folder)

    assert broken(kept.rows) == []
    slower = [
        {**row, "seconds": [1000 * seconds for seconds in row["seconds"]]} if row["implementation"] == "XLA" else row
        for row in kept.rows
        if "seconds" in row
    ]
    assert any(
        sentence.startswith("B-01 (NVIDIA H200) is broken: Vectorised on a GPU, XLA") for sentence in broken(slower)
    )


def study_in(directory: Path) -> Path:
    """The folder of a study of its own."""
    return shutil.copytree(CHECKOUT / "experiments" / "algorithm_choice", directory / "algorithm_choice")


@pytest.mark.parametrize("budget", ["smoke", "quick", "paper"])
def test_a_broken_claim_is_said_by_a_study_and_found_by_a_check_at_every_budget(
    budget: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = study_in(tmp_path / "experiments")
    keep(folder, HELD)
    output = tmp_path / "output"
    monkeypatch.setattr(checks, "CHECKOUT", tmp_path)
    monkeypatch.setattr("sys.argv", ["study", "--budget", budget, "--output", str(output)])

    def status(now: Estimate, missing: Sequence[str] = ()) -> int:
        def run(study: CaseStudy) -> Outcome:
            return Outcome(verdicts_on(now, provisional=study.is_provisional), missing, [])

        return command_line(None, folder, run)

    assert status(DIFFERED, ["SAC is left out"]) == 3
    said = capsys.readouterr().err
    assert "rlscope: SAC is left out\nrlscope: A-13 (walker) is broken" in said
    assert f"make check-claims OUTPUT={output}" in said
    assert status(DIFFERED) == 0
    broken, *contradicted = checks.differences(output)
    assert f"rlscope: {broken}" in said
    assert len(contradicted) == (budget == "paper")
    assert status(HELD) == 0
    assert checks.differences(output) == []


@pytest.mark.parametrize(
    ("estimate", "provisional", "missing", "status", "differing"),
    [
        (DIFFERED, False, [], 0, 1),
        (DIFFERED, True, [], 0, 0),
        (DIFFERED, False, ["SAC is left out"], 3, 1),
        (ACROSS, False, [], 0, 0),
        (TOO_FEW, False, [], 0, 0),
        (exact(1.0), False, [], 0, 0),
    ],
)
def test_a_study_that_ran_ends_well_whatever_its_claims_say(
    estimate: Estimate,
    provisional: bool,
    missing: list[str],
    status: int,
    differing: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    outcome = Outcome(verdicts_on(estimate, provisional=provisional), missing, [])
    assert exit_status(lambda: outcome, [tmp_path]) == status
    assert capsys.readouterr().err.count("A-13 (walker) differs") == differing
    write_claims(outcome.verdicts, Provenance("", "", "paper", {"one": 3, "another": 3}, [CPU], {}, []), tmp_path)
    assert len(checks.differences(tmp_path)) == differing


def test_published_values_that_were_changed_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, output = study_in(tmp_path / "experiments"), tmp_path / "output"
    monkeypatch.setattr(checks, "CHECKOUT", tmp_path)
    claim, *_ = load_claims(folder / "claims.toml")

    def found(published: str = claim.published, on_page: str = claim.published, drawn: str = "") -> list[str]:
        verdict = replace(verdicts_on(HELD)[0], claim=replace(claim, published=published))

        def run(study: CaseStudy) -> Outcome:
            page = StudyPage("study", study.output)
            page.claims([verdict])
            page.write(study.output / "index.html")
            return Outcome([verdict], [], [])

        run_study(CaseStudy(folder, "quick", output), run)
        for name, before, after in (("index.html", claim.published, on_page), ("published.csv", drawn, f"1{drawn}")):
            text = (output / name).read_text()
            (output / name).write_text(text.replace(before, after) if before else text)
        return checks.differences(output)

    output.mkdir()
    assert found() == []
    (sentence,) = found(published="at least 2x")
    assert "'at least 2x'" in sentence and claim.published in sentence
    (sentence,) = found(on_page="at least 2x")
    assert "does not have what was published" in sentence
    (sentence,) = found(drawn="39.3")
    assert "published.csv is not" in sentence


def test_a_check_of_nothing_or_of_something_damaged_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"expected the claims\.json of a study in"):
        checks.differences(tmp_path)
    for contents in ("", "{}", '{"claims": [{}], "calculated": []}', '{"claims": [], "calculated": []}'):
        (tmp_path / "claims.json").write_text(contents)
        with pytest.raises(UsageError, match="Restore the file, or remove it"):
            checks.differences(tmp_path)


ON_GPU = dataclasses.replace(CLAIM, hardware="gpu")


def test_what_takes_a_gpu_is_judged_by_what_is_kept_of_one(tmp_path: Path) -> None:
    here = judge([CLAIM, ON_GPU], {"walker": {"ratio": HELD}}, "cpu", provisional=False)
    assert [verdict.verdict for verdict in here] == [HOLDS, NOT_TESTABLE]
    needs = "needs GPU runs, these used the CPU; no such runs of another machine are kept"
    alone = [here[0], dataclasses.replace(here[1], remark=needs)]
    assert with_kept(here, tmp_path) == alone
    keep(tmp_path, DIFFERED, GPU, ON_GPU)
    own, kept = with_kept(here, tmp_path)
    assert own == here[0]
    assert (kept.verdict, kept.subject, kept.measured, kept.provisional) == (
        DIFFERS,
        "walker, NVIDIA H200",
        DIFFERED,
        True,
    )
    assert kept.remark == (
        "another simulator; measured on NVIDIA H200, 2026-11-22, by `a command`, of a recorder before hashes were kept"
    )
    # The limit is that of now, and what is kept of another kind of machine does not count.
    wider = dataclasses.replace(ON_GPU, above=0.5)
    assert [each.verdict for each in with_kept(judge([wider], {"walker": {}}, "cpu", False), tmp_path)] == [HOLDS]
    keep(tmp_path / "cpu", HELD, CPU, ON_GPU)
    assert with_kept(here, tmp_path / "cpu") == alone


def test_what_a_study_keeps_itself_takes_the_place_of_what_is_not_testable(tmp_path: Path) -> None:
    here = judge([CLAIM, ON_GPU], {"walker": {"ratio": HELD}}, "cpu", provisional=False)
    (others,) = judge([ON_GPU], {"walker, NVIDIA H200": {"ratio": HELD}}, "gpu", provisional=False)
    assert with_kept(here, tmp_path, [others]) == [here[0], others]


def test_with_a_gpu_nothing_takes_the_place_of_what_was_measured(tmp_path: Path) -> None:
    keep(tmp_path, DIFFERED, GPU, ON_GPU)
    here = judge([ON_GPU], {"walker": {"ratio": HELD}}, "gpu", provisional=False)
    assert with_kept(here, tmp_path) == here


def test_a_claim_that_nothing_measures_says_why() -> None:
    claim = dataclasses.replace(CLAIM, above=None, untested="tests see it, no run does")
    (verdict,) = judge([claim], {"walker": {}}, "cpu", provisional=False)
    assert (verdict.verdict, verdict.remark) == (NOT_TESTABLE, "tests see it, no run does")
    with pytest.raises(UsageError, match="expected a limit"):
        dataclasses.replace(claim, untested="")
