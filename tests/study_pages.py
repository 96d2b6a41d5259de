"""Pages of small studies whose verdicts are known beforehand, with names that are markup."""

from pathlib import Path

from matplotlib.figure import Figure
from small_study import Matrix

from experiments.artifacts.index_page import started_page
from experiments.artifacts.painter import Drawing, Found
from experiments.artifacts.study import PlannedStudy, Study
from experiments.command_line import Outcome
from experiments.harness.case_study import CaseStudy
from experiments.harness.progress import Progress, Recorded
from experiments.verdicts.claims import Claim, Verdict, judge
from experiments.verdicts.statistics import Estimate
from experiments.verdicts.study_page import ShownFigure, StudyPage

MARKUP = "<img src=x onerror=alert(1)>"
#: Claims by name: hardware, what a figure has to draw, what is measured (None: nothing, for want of a GPU).
CLAIMS = {
    "A-1": ("cpu", "", 3.0),
    "A-2": ("cpu", "calls", 0.5),
    "A-10": ("cpu", "", 1.0),
    "G-1": ("gpu", "", None),
}
#: Each metric is said to be more than 1.
LIMIT, HALF_INTERVAL = 1.0, 0.2
SUBJECTS = ("walker", f"hopper {MARKUP}")
FIGURES = (
    ShownFigure("fig_time", f"Time of the walker {MARKUP}", SUBJECTS[:1], "time"),
    ShownFigure("fig_calls", "Calls of both", kind="calls"),
)


def claim(name: str) -> Claim:
    hardware, figure, _ = CLAIMS[name]
    statement = f"Statement of {name} {MARKUP}"
    return Claim(name, statement, name, "", "more", hardware, f"why {name} differs", above=LIMIT, figure=figure)


def verdicts() -> list[Verdict]:
    """For each subject: A-1 holds, A-2 differs, A-10 is undecided, G-1 cannot be tested."""
    measured = {
        name: Estimate(value, value - HALF_INTERVAL, value + HALF_INTERVAL, 3)
        for name, (_, _, value) in CLAIMS.items()
        if value is not None
    }
    return judge([claim(name) for name in CLAIMS], dict.fromkeys(SUBJECTS, measured), "cpu", provisional=True)


def draw(folder: Path) -> None:
    """Draw the figures into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for shown in FIGURES:
        figure = Figure(figsize=(2, 1))
        figure.subplots().plot([0, 1])
        figure.savefig(folder / f"{shown.stem}.png")


def write_study(folder: Path) -> Path:
    """Write a study's page, and return where."""
    draw(folder)
    page = StudyPage(f"Case study {MARKUP}", folder)
    for figure in FIGURES:
        page.show(figure)
    page.heading("Claims")
    page.claims(verdicts())
    page.write(folder / "index.html")
    return folder / "index.html"


def write_index(folder: Path) -> Path:
    """Write the page over two studies, one of which is not drawn yet, and return where."""
    matrices = [Matrix(folder, {"one": ""}, 1, name) for name in ("first", "second")]
    studies = [
        PlannedStudy(
            Study(matrix.folder.name.title(), matrix.folder, lambda _: Outcome([], [], [])),
            CaseStudy(matrix.folder, "quick", matrix.output / matrix.folder.name),
        )
        for matrix in matrices
    ]
    write_study(studies[0].case.output)
    progress = Progress([run for study in studies for run in study.runs])
    drawing = Drawing(Found(Recorded(), 0, is_calibrated=True), Outcome(verdicts(), [], [], FIGURES))
    page = started_page("Runs are being recorded.", "quick", studies, progress, {"First": drawing})
    page.write(folder / "output" / "index.html")
    return folder / "output" / "index.html"
