"""This file records the runs of all studies, and draws each study and the page over all of them as runs end."""

from collections.abc import Sequence
from pathlib import Path

from experiments.artifacts.index_page import INDEX, started_page, write_page
from experiments.artifacts.order import in_order
from experiments.artifacts.painter import Drawing, Found, Painter
from experiments.artifacts.study import PlannedStudy, draw
from experiments.command_line import Outcome
from experiments.harness.progress import Progress, Recorded, StudyRun
from experiments.harness.provenance import provenance, provenance_table
from experiments.harness.ray_scheduler import import_ray, record_on_ray
from experiments.overhead_correction.first_calibration import calibrate_first, has_to_calibrate, is_calibrated
from experiments.verdicts.artifact import verdicts_on_artifact
from experiments.verdicts.claims import Verdict, write_claims
from rlscope.errors import RLScopeError
from rlscope.page.plain_page import Page
from rlscope.text.numbers import duration

RECORDING = (
    "Runs are being recorded: {ended} of {all} have ended, about {left} left. Load this page again for what is new."
)
CALIBRATING = "What recording costs on this machine is being measured, two minutes. Figures are drawn again without it."
DRAWING = "All runs have ended, and the last studies are being drawn."
DONE = "All studies are done."
INTERRUPTED = "Interrupted: {ended} of {all} runs have ended. The same command goes on from there, about {left}."


class Artifacts:
    """All studies on their way to their pages."""

    def __init__(self, studies: Sequence[PlannedStudy], address: str | None, output: Path) -> None:
        self._studies = studies
        self._address = address
        self._output = output
        self._runs = in_order([run for study in studies for run in study.runs])
        self._progress = Progress(self._runs)
        self._painter = Painter()
        self._drawings: dict[str, Drawing] = {}

    def make(self) -> Outcome:
        """Record, draw and judge everything; a page is there from the beginning, however this ends.

        Raises:
            UsageError: No run can be executed.
        """
        self._write(RECORDING)
        try:
            import_ray(self._address)  # what is missing is said before the first run
            self._progress.say(f"how far all studies are: {self._output / INDEX}")
            self._record()
            self._write(DRAWING)
            self._draw_what_is_new(self._studies)
            return self._sum_up()
        except KeyboardInterrupt:
            self._stop(INTERRUPTED)
            raise
        except Exception as error:
            self._stop(f"Stopped: {error} The same command goes on from there.")
            raise

    def _record(self) -> None:
        """Record everything; the first study has a figure before anything else is done."""
        self._progress.on_news = self._on_news
        if has_to_calibrate(self._runs):
            first = self._studies[0]
            self._record_runs([run for run in self._runs if run.study == first.case.folder.name and not run.repetition])
            self._draw_what_is_new([first])
            self._write(CALIBRATING)
            calibrate_first(self._runs)
        self._record_runs(self._runs)

    def _record_runs(self, runs: Sequence[StudyRun]) -> None:
        """Record these runs; what is being drawn when they have ended is left to who draws what is new."""
        record_on_ray(self._progress, runs, self._address, self._output)
        self._keep(self._painter.take())
        self._painter.abandon()

    def _on_news(self) -> None:
        """Go on drawing, one study at a time, and show how far everything is."""
        self._keep(self._painter.take())
        for study in self._studies:
            if self._painter.is_free and self._is_worth_drawing(study):
                self._painter.start(study, self._found(study))
        self._write(RECORDING)

    def _is_worth_drawing(self, study: PlannedStudy) -> bool:
        """Return whether a repetition has ended since the study was drawn, or what recording costs has become known."""
        found, drawn = self._found(study), self._drawings.get(study.about.title)
        if study.about.measures or not found.repetitions:
            return False
        return drawn is None or (found.repetitions, found.is_calibrated) != (
            drawn.found.repetitions,
            drawn.found.is_calibrated,
        )

    def _found(self, study: PlannedStudy) -> Found:
        """Return what there is of a study now."""
        known = self._progress.recorded
        recorded = Recorded(dict(known.executed), dict(known.failures))
        return Found(recorded, study.repetitions_ended(recorded), is_calibrated())

    def _draw_what_is_new(self, studies: Sequence[PlannedStudy]) -> None:
        """Draw those studies of which there is more than they were drawn from."""
        for study in studies:
            drawn = self._drawings.get(study.about.title)
            if drawn is None or not drawn.outcome or not drawn.found.is_of_now(study, self._progress.recorded):
                self._draw(study)

    def _draw(self, study: PlannedStudy) -> None:
        """Draw a study while nothing is recorded."""
        found = self._found(study)
        try:
            self._drawings[study.about.title] = Drawing(found, draw(study, found.recorded))
        except RLScopeError as error:
            self._drawings[study.about.title] = Drawing(found, None, str(error))

    def _keep(self, drawn: tuple[PlannedStudy, Drawing] | None) -> None:
        """Keep what the painter has drawn, if there is something."""
        if drawn:
            study, drawing = drawn
            self._drawings[study.about.title] = drawing

    def _stop(self, doing: str) -> None:
        """Leave pages that are whole, and say how to go on."""
        self._progress.running.clear()
        self._keep(self._painter.stop())
        self._write(doing)

    def _write(self, doing: str) -> None:
        """Write the page over all studies."""
        write_page(self._page(doing), self._output)

    def _page(self, doing: str, of_artifact: Sequence[Verdict] = ()) -> Page:
        """Return the page over all studies as it is now."""
        recorded = self._progress.recorded
        sentence = doing.replace("{ended}", str(sum(not recorded.is_open(run) for run in self._runs)))
        sentence = sentence.replace("{all}", str(len(self._runs)))
        sentence = sentence.replace("{left}", duration(self._progress.seconds_left()))
        budget = self._studies[0].case.budget
        return started_page(sentence, budget, self._studies, self._progress, self._drawings, of_artifact)

    def _sum_up(self) -> Outcome:
        """Judge the artifact itself, and write all verdicts."""
        titled = [(study.about.title, self._drawings[study.about.title]) for study in self._studies]
        outcomes = [drawing.outcome for _, drawing in titled if drawing.outcome]
        of_artifact = verdicts_on_artifact([study.case for study in self._studies])
        verdicts = [*(verdict for outcome in outcomes for verdict in outcome.verdicts), *of_artifact]
        executions = [execution for outcome in outcomes for execution in outcome.executions]
        missing = [f"{title}: {drawing.problem}" for title, drawing in titled if not drawing.outcome]
        missing += [sentence for outcome in outcomes for sentence in outcome.missing]
        repetitions = {study.case.folder.name: study.case.repetitions_of_each for study in self._studies}
        found = provenance(self._studies[0].case.budget, repetitions, executions)
        page = self._page(DONE, of_artifact)
        page.heading("Where this comes from")
        page.table(provenance_table(found))
        write_page(page, self._output)
        write_claims(verdicts, found, self._output)
        broken = [sentence for outcome in outcomes for sentence in outcome.broken]
        return Outcome(verdicts, missing, executions, broken=broken)
