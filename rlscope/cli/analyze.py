"""The verb `analyze`: where the time of one or more traces went."""

import csv
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from rlscope.analysis.analysis import Analysis
from rlscope.analysis.lines.tables import LineRow
from rlscope.analysis.rows import Record
from rlscope.analysis.table_rows import BreakdownRow, CallRow, ThreadRow
from rlscope.analysis.tables.breakdown import group_seconds
from rlscope.cli.given.options import NamedPath, correct_option, force_option, ignore_option, select_option
from rlscope.cli.given.traces import analyze_traces, is_sampled, job_of, warn_of_counters
from rlscope.cli.progress import reading_bar
from rlscope.errors import UsageError
from rlscope.model import GpuAttribution
from rlscope.outputs import Output, is_marked
from rlscope.report.first_screen import print_screens
from rlscope.report.joined import joined
from rlscope.rules.choice import choice
from rlscope.text import printable

#: More runs are one table.
MOST_SCREENS = 3
#: What a line of Python is told by.
LINE = ("function", "file", "line")


@click.command()
@click.argument("directories", metavar="DIR...", nargs=-1, required=True, type=NamedPath(is_trace=True))
@click.option(
    "--by",
    metavar="COLS",
    help="Sum over all but these columns: process, phase, stage, operation, category, resource (comma-separated); "
    "with thread, each thread's own view; with function, seconds and calls of each function; with line, Python's "
    "seconds by function, file and line, if they were recorded with --lines.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (a list of them for several DIRs).")
@click.option("--csv", "csv_file", metavar="FILE", type=NamedPath(), help="Write the breakdown as CSV.")
@click.option("--parquet", "parquet_file", metavar="FILE", type=NamedPath(), help="Write the breakdown as Parquet.")
@force_option
@click.option(
    "--gpu-attribution",
    type=click.Choice([choice.value for choice in GpuAttribution]),
    default=GpuAttribution.LAUNCH.value,
    show_default=True,
    help="Whose time it is while a device works and the process waits: that of the operation which launched the work, "
    "or of the one that is open.",
)
@click.option("--all", "is_whole", is_flag=True, help="Show what is small too, and long tables to their end.")
@select_option
@ignore_option
@correct_option
@click.option("--recover", is_flag=True, help="Step over damaged parts of a trace instead of stopping there.")
def analyze(
    directories: tuple[Path, ...],
    by: str | None,
    as_json: bool,
    csv_file: Path | None,
    parquet_file: Path | None,
    force: bool,
    gpu_attribution: str,
    is_whole: bool,
    select: str | None,
    ignore: str | None,
    correct: str,
    recover: bool,
) -> None:
    """Show where the time of the traces in DIR... went, and what would make the runs faster.

    \b
    Examples:
      rlscope analyze trace
      rlscope analyze trace --by stage,category
      rlscope analyze run-1 run-2 --by operation --csv operations.csv
    """
    if sum((as_json, csv_file is not None, parquet_file is not None)) > 1:
        raise UsageError("one of --json, --csv and --parquet was expected, but several were given; run once for each")
    if len(directories) == 1 and is_sampled(directories[0]):
        if by is not None or csv_file is not None or parquet_file is not None:
            raise UsageError(
                f"of {directories[0]} only a sample was recorded, which --json and the table of `analyze` estimate the "
                f"run from; give one of its windows instead, such as {directories[0] / 'window-1'}"
            )
        _analyze_sample(directories[0], as_json, is_whole, recover)
        return
    job = job_of(directories[0]) if len(directories) == 1 else None
    directories = directories if job is None else tuple(job.windows)
    written = csv_file or parquet_file
    shown = choice(select, ignore)
    file = Output(written, force, is_breakdown if csv_file else is_marked) if written is not None else None
    columns = [name.strip() for name in by.split(",")] if by is not None else []
    by_name = analyze_traces(
        directories,
        recover,
        correct,
        "thread" in columns,
        GpuAttribution(gpu_attribution),
        "function" in columns and "line" not in columns,
    )
    analyses = [shown.of(analysis) for analysis in by_name.values()]
    if "line" in columns:
        _check_lines(analyses)
    breakdowns = [_breakdown(analysis, columns) for analysis in analyses]
    if as_json:
        _print_json(analyses, breakdowns)
    elif file is not None:
        warn_of_counters(analyses)
        with file.writing() as unfinished:
            (_write_csv if csv_file else _write_parquet)(unfinished, joined(analyses, breakdowns))
    elif columns:
        from rlscope.report.analysis_tables import print_breakdown  # and all tables, which the first screen has not

        print_breakdown(analyses, breakdowns, is_whole)
    elif is_whole:
        from rlscope.report.analysis_tables import print_whole

        print_whole(analyses)
    elif len(by_name) > (1 if job else MOST_SCREENS):
        from rlscope.report.many_runs import print_many  # with tables, which the first screen has not

        title, notes = (job.title, job.notes) if job else (f"{len(by_name)} runs", [])
        print_many(dict(zip(by_name, analyses, strict=True)), title, notes)
    else:
        print_screens(analyses)
        for note in job.notes if job else ():
            click.echo(printable(note))


def _analyze_sample(run: Path, as_json: bool, is_whole: bool, recover: bool) -> None:
    """Show what the recorded iterations of a run say of all of it."""
    from rlscope.compare.sampled.windows import estimated_run, open_sample  # with numpy and scipy
    from rlscope.report.comparison_shown import print_whole_run

    sample = open_sample(run, recover)
    with reading_bar("analyzing", sample.traces):
        found = estimated_run(sample, recover)
    if as_json:
        json.dump(found.to_json_dict(), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        print_whole_run(found, is_whole)


def _check_lines(analyses: Sequence[Analysis]) -> None:
    """Refuse traces in which no stack was looked at.

    Raises:
        UsageError: there is one.
    """
    for analysis in analyses:
        if not analysis.lines:
            raise UsageError(
                f"lines of Python were expected in {analysis.directory}, but none were recorded; "
                "record the run again with `rlscope record --lines`"
            )


def _breakdown(analysis: Analysis, columns: Sequence[str]) -> list[Record]:
    if not columns:
        return analysis.breakdown.records()
    if "line" in columns:
        return group_seconds(analysis.lines, [*(name for name in columns if name not in LINE), *LINE])
    if "function" in columns:
        return group_seconds(analysis.calls, columns)
    return group_seconds(analysis.threads if "thread" in columns else analysis.breakdown, columns)


def _write_csv(path: Path, rows: Sequence[Record]) -> None:
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else (), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _write_parquet(path: Path, rows: Sequence[Record]) -> None:
    import pandas as pd

    from rlscope.export.parquet import write_table

    write_table(pd.DataFrame(rows), path)


def is_breakdown(begin: bytes, _: bytes) -> bool:
    """Tell by its columns whether a file is a CSV that `analyze` wrote: these have no place for a mark."""
    columns = begin.partition(b"\n")[0].decode(errors="replace").split(",")
    known = {name for row in (BreakdownRow, ThreadRow, CallRow, LineRow) for name in row.columns()}
    return "seconds" in columns and set(columns) <= known | {"trace"}


def _print_json(analyses: Sequence[Analysis], breakdowns: Sequence[list[Record]]) -> None:
    from rlscope.analysis.document import document_of  # which a terminal does not need

    documents = []
    for analysis, breakdown in zip(analyses, breakdowns, strict=True):
        document = document_of(analysis) | {"breakdown": breakdown}
        documents.append(document if len(analyses) == 1 else {"trace": str(analysis.directory)} | document)
    json.dump(documents[0] if len(documents) == 1 else documents, sys.stdout, indent=2)
    sys.stdout.write("\n")
