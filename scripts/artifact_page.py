"""This file prints ARTIFACT.md: what an evaluator needs, with the claims of claims.toml and minutes of runs.toml."""

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from experiments import CHECKOUT
from experiments.harness.matrix import BUDGETS, load_matrix
from experiments.verdicts.claims import Claim, load_claims

HEAD = """\
# Artifact evaluation

This page is for somebody who checks whether RL-Scope does what its papers say. A *claim* is a sentence of a paper
with a number in it. Each one below has a command that measures the number again, and a range in which the number has
to lie. The last column is that range: with `> 1.3`, a measured 1.5 confirms the claim and 1.2 contradicts it.

`.venv/bin/python scripts/artifact_page.py > ARTIFACT.md` writes this page anew; a test compares it with the files
that the commands read.

## What you need

| | |
|---|---|
| hardware | x86-64; minutes are of two cores with 24 GB of memory. Claims marked *gpu* need an NVIDIA GPU |
| software | Linux, Python 3.11 to 3.13, a C++ compiler, make; or [only Docker](docs/docker.md) |
| disk | 5 GB for the environments, 1 MB for a recording of 200,000 events, 7 MB for the smoke experiment below |
| network | for the set-up alone: 1.3 GB, more with PyTorch for CUDA; pip downloads each package once |

## Kick the tires: 10 minutes

```bash title="takes minutes"
make build
scripts/experiment_algorithm_choice.sh --budget smoke --output output/smoke/experiment_algorithm_choice
```

The second command took a minute of CPU time. It records eight small trainings, draws two figures, and ends with a line
such as `wrote …/index.html`. That page has both figures and a verdict for each claim. With so few iterations the
verdicts mean nothing: many are `undecided`.

## All claims

```bash title="takes an hour"
make artifacts
```

The page is `output/artifacts/index.html`, with the verdicts of all studies. To check one claim, run
`scripts/install_experiments` once, and then the command of the claim's study below. `--budget paper` records as much
as the papers did. A study ends with status 0 where all of it ran, and with 3 where something could not be run. It says
which claims differ that held before, or with as much run as published; with one, `make check-claims` is an error.

A measurement comes with an interval. The verdict is `holds` or `differs` where the whole interval lies inside or
outside of the range, and `undecided` where it reaches across the limit. A claim may appear several times: each row
measures one part of it. [docs/case-studies.md](docs/case-studies.md) says why a machine of today may find something
else.
"""
TABLE = """\
| claim | statement | needs | expected, as published | tolerance |
|---|---|---|---|---|
"""
ITSELF = """
## The artifact itself

Command: `make artifacts`. These claims are about the papers' artifacts, and are judged when all studies have run.

"""


def cell(text: str) -> str:
    """Return a text as the cell of a table."""
    return text.replace("|", "\\|")


def row(claim: Claim) -> str:
    """Return the row of a claim."""
    tolerance = claim.condition or f"not tested: {claim.untested}"
    return "| " + " | ".join(map(cell, (claim.id, claim.statement, claim.hardware, claim.published, tolerance))) + " |"


def rows(claims: Sequence[Claim]) -> str:
    """Return the rows of claims."""
    return "".join(row(claim) + "\n" for claim in claims)


def section(study: Path) -> str:
    """Return the command of a study, its minutes, and its claims."""
    matrix = load_matrix(study / "runs.toml")
    minutes = ", ".join(f"{budget} {matrix.budget(budget).minutes:g}" for budget in BUDGETS)
    claims = rows(load_claims(study / "claims.toml"))
    script = f"scripts/experiment_{study.name}.sh"
    return f"""
## {study.name}

Command: `{script}`. Minutes on two cores, by budget: {minutes}.

{TABLE}{claims}"""


def page() -> str:
    """Return the whole page."""
    studies = sorted(
        (file.parent for file in CHECKOUT.glob("experiments/*/claims.toml")), key=lambda study: study.name.lower()
    )
    itself = load_claims(CHECKOUT / "experiments" / "verdicts" / "artifact_claims.toml")
    return HEAD + "".join(map(section, studies)) + ITSELF + TABLE + rows(itself)


if __name__ == "__main__":
    print(page(), end="")
