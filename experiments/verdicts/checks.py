"""This file checks what studies have left: which claims differ that must not, and whether published values are true."""

from collections.abc import Sequence
from pathlib import Path

from experiments import CHECKOUT
from experiments.verdicts.claims import Claim, Verdict, load_claims
from experiments.verdicts.kept_verdicts import broken_claims, contradicted_claims, damaged, read_kept, verdicts_in
from experiments.verdicts.published import FILE
from rlscope.errors import UsageError
from rlscope.text import as_html

PAGE = "index.html"


def differences(output: Path) -> list[str]:
    """Return a sentence for each claim that differs and held before, or differs with as much run as was published, and
    for each published value that is not what the study's files say.

    Args:
        output: where a study has left its results, or all studies have.

    Raises:
        UsageError: No study has left any there, or what it has left is damaged.
    """
    paths = sorted([*output.glob("claims.json"), *output.glob("*/claims.json")])
    if not paths:
        raise UsageError(f"expected the claims.json of a study in {output} or below it, found none. Run a study first")
    found: list[str] = []
    for path in paths:
        contents = read_kept(path)
        verdicts = verdicts_in(contents, path)
        try:
            studies, hardware = list(contents["repetitions"]), contents["hardware"]
        except KeyError as error:
            raise damaged(path, error) from error
        if len(studies) == 1:  # and not those of all studies together
            folder = CHECKOUT / "experiments" / studies[0]
            found += broken_claims(verdicts, hardware, folder)
            found += changed_values(verdicts, path.parent, folder)
        found += contradicted_claims(verdicts)
    return list(dict.fromkeys(found))


def changed_values(verdicts: Sequence[Verdict], output: Path, folder: Path) -> list[str]:
    """Return a sentence for each published value that a study has left otherwise than its files have it.

    Args:
        verdicts: that it has left.
        output: its page, and beside it what its figures show of the published ones.
        folder: of the study.
    """
    page, drawn = output / PAGE, output / FILE
    text = page.read_text() if page.exists() else None
    known = {key_of_claim(claim): claim for claim in load_claims(folder / "claims.toml")}
    found = []
    for verdict in verdicts:
        claim = known.get(key_of_claim(verdict.claim))
        if claim is None:
            continue  # it is no longer a claim of the study
        was, now = of_publication(verdict.claim), of_publication(claim)
        if was != now:
            found.append(f"{claim.id} ({verdict.subject}) was judged by published values {was}; claims.toml has {now}")
        elif text is not None and as_html(claim.published) not in text:
            found.append(f"{claim.id} ({verdict.subject}): {page} does not have what was published: {claim.published}")
    if drawn.exists() and drawn.read_bytes() != (folder / FILE).read_bytes():
        found.append(f"{drawn} is not {folder / FILE}: the page shows other values than those that were published")
    return [f"{sentence}. Give the study's command again" for sentence in found]


def key_of_claim(claim: Claim) -> tuple[str, str, str, str]:
    """Return what makes two claims the same."""
    return claim.id, claim.metric, claim.hardware, claim.subject


def of_publication(claim: Claim) -> tuple[str, str]:
    """Return what was published of a claim, and the range that follows from it."""
    return claim.published, claim.condition
