"""This file writes ARTIFACT.md, and what README.md and experiments/README.md say of studies, from the studies' files.

.venv/bin/python scripts/artifact_page.py           writes them
.venv/bin/python scripts/artifact_page.py --check   says which of them are not what would be written
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable
from functools import cache
from itertools import groupby
from pathlib import Path
from statistics import fmean

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from experiments import CHECKOUT
from experiments.harness.case_study import is_for
from experiments.harness.matrix import BUDGETS, Matrix, load_matrix
from experiments.verdicts.claims import load_claims
from experiments.verdicts.kept_verdicts import MEASURED
from experiments.verdicts.published import Published, PublishedFigure

#: Of an evaluator's machine.
CORES = 2
HEAD = """\
# Artifact evaluation

This page is for somebody who checks whether RL-Scope does what its papers say. A *claim* is a sentence of a paper
with a number in it. A study measures the number again, and judges the claim.
`scripts/artifact_page.py` writes this page; a test checks that.

## What you need

| | |
|---|---|
| hardware | x86-64, two cores, 24 GB of memory. Claims about a GPU are judged by kept results where there is none |
| software | Linux, Python 3.11 to 3.13, a C++ compiler, make; or [only Docker](docs/docker.md) |
| disk | 5 GB for the environments |
| network | for the set-up alone: 1.3 GB, more with PyTorch for CUDA |

## Kick the tires: 10 minutes

```bash title="takes minutes"
make build
scripts/experiment_algorithm_choice.sh --budget smoke --output output/smoke/experiment_algorithm_choice
```

This records eight small trainings, draws two figures, and ends with a line such as `wrote …/index.html`. With so few
iterations its verdicts mean nothing.

## All figures and claims

```bash title="takes an hour"
make artifacts
```

`output/artifacts/index.html` shows each figure and its verdicts from the first minute. Runs take {total:g} minutes on
two idle cores without a GPU. Results of a study lie in `output/artifacts/experiment_STUDY/`: its page, and each figure
as PDF, PNG and SVG with its numbers as CSV.

A study alone: `scripts/install_experiments` once, then its script, such as
`scripts/experiment_algorithm_choice.sh`. `--budget paper` records as much
as the papers did. A study ends with status 0 where all of it ran, and with 3 where something could not be run.

A measurement comes with an interval. The verdict is `holds` or `differs` where the whole interval lies inside or
outside of the claim's range, and `undecided` where it reaches across a limit. `make check-claims` is an error where a
claim differs that held before, or with as much run as published.
[docs/case-studies.md](docs/case-studies.md) says why a machine of today may find something else.

## Published figures

Minutes are those of the study on two cores, for the budgets {budgets}. Published values stand in the same axes.

| published | study | file | minutes | what is compared |
|---|---|---|---|---|
"""
STUDIES = """\
| study | command | published | claims | minutes ({budgets}; two cores) | repetitions |
|---|---|---|---|---|---|
"""


@cache
def studies() -> list[Path]:
    """Return the folders of all studies."""
    return sorted(
        (file.parent for file in CHECKOUT.glob("experiments/*/runs.toml")), key=lambda path: path.name.lower()
    )


def matrix_of(study: Path) -> Matrix:
    """Return what a study runs."""
    return load_matrix(study / "runs.toml")


def minutes(study: Path) -> str:
    """Return the minutes of a study at each budget."""
    return ", ".join(f"{minutes_at(study, budget):g}" for budget in BUDGETS)


def minutes_at(study: Path, budget: str) -> float:
    """Return the minutes that a study took on machines like the evaluator's of which results are kept; without any,
    those that runs.toml foresees.
    """
    planned = matrix_of(study).budget(budget)
    kept = [json.loads(path.read_text()) for path in sorted((study / MEASURED).glob("*/claims.json"))]
    took = [
        found["seconds"] / 60
        for found in kept
        if found.get("seconds") is not None
        and found["budget"] == budget
        and found["repetitions"] == {study.name: planned.repetitions}
        and [(machine["cores"], "gpus" in machine) for machine in found["hardware"]] == [(CORES, False)]
    ]
    return round(2 * fmean(took)) / 2 if took else planned.minutes


def needs_gpu(study: Path) -> bool:
    """Return whether nothing of a study is run without a GPU."""
    return not any(is_for(entry, "cpu") for entry in matrix_of(study).entries)


def total_minutes() -> float:
    """Return the minutes of all studies together at the quick budget, without a GPU."""
    return sum(minutes_at(study, "quick") for study in studies() if not needs_gpu(study))


def artifact(_: str) -> str:
    """Return ARTIFACT.md."""
    head = HEAD.format(total=total_minutes(), budgets=" / ".join(BUDGETS))
    shown = [(study, figure) for study in studies() for figure in Published(study).source.figures]
    return head + "".join(figure_row(study, figure) for study, figure in sorted(shown, key=place))


def place(shown: tuple[Path, PublishedFigure]) -> tuple[bool, str, int]:
    """Return what the rows are sorted by: figures of a paper by their numbers, and after them what is none."""
    study, figure = shown
    digits = re.match(r"\d+", figure.number)
    return not figure.number, Published(study).source.source, int(digits[0]) if digits else 0


def figure_row(study: Path, figure: PublishedFigure) -> str:
    """Return the row of a study's figure."""
    source = Published(study).source.source
    published = f"{figure.name} of {source}" if figure.name else f"none: {source}"
    driver = f"[{study.name}](experiments/{study.name}/run.py)"
    return f"| {published} | {driver} | `{figure.stem}` | {minutes(study)} | {figure.compared} |\n"


def experiments_readme(text: str) -> str:
    """Return experiments/README.md with the table of studies as they are."""
    table = STUDIES.format(budgets=", ".join(BUDGETS)) + "".join(map(study_row, studies()))
    return replaced(r"(?:^\| study \|.*\n)(?:^\|.*\n)*", table, text)


def study_row(study: Path) -> str:
    """Return the row of a study: what it draws again, and judges."""
    source = Published(study).source
    numbers = [figure.number for figure in source.figures if figure.number]
    of = f"figure{'s' if len(numbers) > 1 else ''} {', '.join(numbers)} of " if numbers else "no figure: "
    claims = load_claims(study / "claims.toml")
    on_cpu = dict.fromkeys(claim.id for claim in claims if claim.hardware == "cpu")
    on_gpu = dict.fromkeys(claim.id for claim in claims if claim.hardware == "gpu" and claim.id not in on_cpu)
    parts = [ranges(on_cpu), f"with a GPU {ranges(on_gpu)}" if ranges(on_gpu) else ""]
    spent = minutes(study) + ("; nothing is run without a GPU" if needs_gpu(study) else "")
    command = f"`scripts/experiment_{study.name}.sh`"
    judged = "; ".join(filter(None, parts))
    repeated = ", ".join(str(matrix_of(study).budget(budget).repetitions) for budget in BUDGETS)
    cells = (f"[{study.name}]({study.name}/run.py)", command, f"{of}{source.source}", judged, spent, repeated)
    return f"| {' | '.join(cells)} |\n"


def ranges(claims: Iterable[str]) -> str:
    """Return numbered claims as "A-03 to A-06, A-08"; others, as those of our own, are left out."""
    found = sorted({(match[1], int(match[2])) for claim in claims if (match := re.fullmatch(r"([A-Z])-(\d+)", claim))})
    runs = [list(run) for _, run in groupby(enumerate(found), key=lambda each: (each[1][0], each[1][1] - each[0]))]
    texts = []
    for run in runs:
        (_, first), (_, last) = run[0], run[-1]
        names = [name_of(*first), name_of(*last)]
        texts.append(" to ".join(names) if len(run) > 2 else ", ".join(dict.fromkeys(names)))
    return ", ".join(texts)


def name_of(letter: str, number: int) -> str:
    """Return a claim's name: "A-03"; those about the artifact have one digit."""
    return f"{letter}-{number}" if letter == "E" else f"{letter}-{number:02}"


def readme(text: str) -> str:
    """Return README.md with the minutes of `make artifacts`."""
    return replaced(r"\(about [\d.]+ minutes\)", f"(about {total_minutes():g} minutes)", text)


def replaced(pattern: str, by: str, text: str) -> str:
    """Return a text with the one place that a pattern matches replaced.

    Raises:
        ValueError: There is none, or there are several.
    """
    written, count = re.subn(pattern, lambda _: by, text, flags=re.MULTILINE)
    if count != 1:
        raise ValueError(f"expected one place that is like {pattern}, found {count}")
    return written


#: What is written, and from the file as it is.
FILES: dict[str, Callable[[str], str]] = {
    "ARTIFACT.md": artifact,
    "README.md": readme,
    "experiments/README.md": experiments_readme,
}


def main() -> int:
    """Write the files, or say which of them are not as they should be: the exit status is 1 then."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    is_check = parser.parse_args().check
    status = 0
    for name, write in FILES.items():
        path = CHECKOUT / name
        found = path.read_text()
        expected = write(found)
        if found != expected and is_check:
            print(f"{name} is not what the studies' files say. Write it anew: python scripts/artifact_page.py")
            status = 1
        elif found != expected:
            path.write_text(expected)
            print(f"wrote {name}")
    return status


if __name__ == "__main__":
    sys.exit(main())
