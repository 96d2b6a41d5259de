"""The verb `inspect` shows what a trace holds, and what it lost."""

import json
import sys
from pathlib import Path

import click

from rlscope.analysis.contents import read_contents
from rlscope.cli.given.options import NamedPath
from rlscope.cli.progress import reading_bar
from rlscope.trace.reader import open_trace


@click.command()
@click.argument("directory", metavar="DIR", type=NamedPath(is_trace=True))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--recover", is_flag=True, help="Step over damaged parts of the trace instead of stopping there.")
def inspect(directory: Path, as_json: bool, recover: bool) -> None:
    """Show what the trace in DIR holds, and whether anything is missing from it.

    \b
    Example:
      rlscope inspect trace
    """
    trace = open_trace(directory, recover)
    with reading_bar("reading", [trace]):
        contents = read_contents(trace, recover)
    if as_json:
        json.dump(contents.to_json_dict(), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        from rlscope.report.contents_tables import print_contents  # and rich, which JSON does not need

        print_contents(directory, contents)
