"""This file makes a case study a command."""

import argparse
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from experiments import CHECKOUT
from experiments.harness.case_study import CaseStudy
from experiments.harness.dry_run import print_runs
from experiments.harness.execute import Execution
from experiments.harness.lock import locked
from experiments.harness.matrix import BUDGETS
from experiments.harness.provenance import provenance
from experiments.verdicts.claims import Verdict, write_claims
from experiments.verdicts.deciding import plan, repetitions_within
from experiments.verdicts.kept_verdicts import broken_claims, contradicted_claims
from experiments.verdicts.published import FILE
from experiments.verdicts.study_page import ShownFigure
from rlscope.errors import RLScopeError, UsageError

ARTIFACTS = CHECKOUT / "output" / "artifacts"
#: What a shell says of a command that Ctrl-C has ended.
INTERRUPTED = 128 + signal.SIGINT
#: The exit status of a study of which a run has failed, or could not be tried.
MISSING = 3


@dataclass(frozen=True)
class Outcome:
    """This is what a study ends with.

    Attributes:
        verdicts: on its claims.
        missing: what could not be run, and why.
        executions: the runs that it is made of.
        figures: on its page.
        broken: a sentence for each claim that held with what is kept, and differs now.
    """

    verdicts: Sequence[Verdict]
    missing: Sequence[str]
    executions: Sequence[Execution]
    figures: Sequence[ShownFigure] = ()
    broken: Sequence[str] = ()


def command_line(
    description: str | None, folder: Path, run: Callable[[CaseStudy], Outcome], in_parts: bool = False
) -> int:
    """Run a study as a command: parse the arguments, run, write the claims.

    Args:
        description: for the help.
        folder: of the study.
        run: what the study does.
        in_parts: whether it can go on from what an earlier part has measured.

    Returns:
        As `exit_status`.
    """
    parser = make_parser(description, ARTIFACTS / f"experiment_{folder.name}", in_parts)
    said = "repeat as often as decides what was undecided, if that takes no more minutes; fixed before the first run"
    parser.add_argument("--decide", type=float, metavar="MINUTES", help=said)
    arguments = parser.parse_args()
    study = CaseStudy(
        folder, arguments.budget, arguments.output.resolve(), arguments.repetitions, earlier=arguments.earlier
    )
    if arguments.decide is not None:
        study = replace(study, repetitions=repetitions_within(study, arguments.decide))
    if arguments.dry_run:
        return exit_status(lambda: print_runs(study.runs(), [], [*study.left_out, *plan(study)]))
    return exit_status(lambda: run_study(study, run), [study.output])


def make_parser(description: str | None, output: Path, in_parts: bool = False) -> argparse.ArgumentParser:
    """Return a parser of what all studies have in common."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", choices=BUDGETS, default="quick", help="how much to run (default: quick)")
    parser.add_argument("--repetitions", type=positive, metavar="N", help="of each workload (default: the budget's)")
    parser.add_argument("--output", type=folder, default=output, metavar="DIR", help=f"default: {output}")
    parser.set_defaults(earlier=None)
    if in_parts:
        parser.add_argument("--earlier", type=folder, metavar="DIR", help="go on from a part's folder measurements/")
    parser.add_argument("--dry-run", action="store_true", help="print the commands and their minutes, run nothing")
    return parser


def positive(text: str) -> int:
    """Return a number of repetitions."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected 1 or more, found {number}")
    return number


def folder(text: str) -> Path:
    """Return a folder for results; an empty name would be the working directory."""
    if not text:
        raise argparse.ArgumentTypeError("expected a folder, found an empty name")
    return Path(text)


def run_study(study: CaseStudy, run: Callable[[CaseStudy], Outcome]) -> Outcome:
    """Run a study, write its claims, and compare them with those that are kept."""
    outcome = run(study)
    found = provenance(study.budget, {study.folder.name: study.repetitions_of_each}, outcome.executions)
    write_claims(outcome.verdicts, found, study.output)
    if (study.folder / FILE).exists():  # what of the published figures is drawn, for who reads the results elsewhere
        shutil.copyfile(study.folder / FILE, study.output / FILE)
    return replace(outcome, broken=broken_claims(outcome.verdicts, found.hardware, study.folder))


def exit_status(run: Callable[[], Outcome | None], outputs: Sequence[Path] = ()) -> int:
    """Run something that has these directories alone meanwhile; turn what comes out of it into an exit status.

    Returns:
        0, whatever claims say; 2 on an error; 3 where something is missing; 130 where it was interrupted.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with ExitStack() as locks:
            for output in outputs:
                check_writable(output)
                locks.enter_context(locked(output))
            outcome = run()
    except RLScopeError as error:
        print(f"rlscope: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("rlscope: interrupted. The same command goes on: runs that are complete are kept", file=sys.stderr)
        return INTERRUPTED
    if outcome is None:
        return 0
    differing = [*outcome.broken, *contradicted_claims(outcome.verdicts)]
    for sentence in [*outcome.missing, *differing]:
        print(f"rlscope: {sentence}", file=sys.stderr)
    if differing:
        print(f"rlscope: `make check-claims OUTPUT={outputs[0]}` is an error with that", file=sys.stderr)
    print(f"wrote {outputs[0] / 'index.html'}")
    return MISSING if outcome.missing else 0


def check_writable(directory: Path) -> None:
    """Make the directory of the results; that they cannot be written is better found before the first run."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=directory).close()
    except OSError as error:
        raise UsageError(
            f"expected to write to {directory}, found: {error.strerror}. "
            "Choose another --output, or change its permissions"
        ) from error
