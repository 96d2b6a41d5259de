"""This file checks what studies have left: which claims differ that must not."""

from pathlib import Path

from experiments import CHECKOUT
from experiments.verdicts.kept_verdicts import broken_claims, contradicted_claims, damaged, read_kept, verdicts_in
from rlscope.errors import UsageError


def differences(output: Path) -> list[str]:
    """Return a sentence for each claim that differs and held before, or differs with as much run as was published.

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
            found += broken_claims(verdicts, hardware, CHECKOUT / "experiments" / studies[0])
        found += contradicted_claims(verdicts)
    return list(dict.fromkeys(found))
