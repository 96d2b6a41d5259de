"""Other people's tests and trainings, plain and recorded: prints a table; the status is 1 if anything differs."""

import argparse
import functools
import shutil
import signal
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from compare import HEAD, Compared, compare
from run import run
from sources import fetch
from suites import TABLE, Suite, read_suites

#: Names that are shown of what differs in a suite; the log has all.
SHOWN = 20


def main() -> int:
    """Parse the arguments, run the suites, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", help="names of suites, `ci` for CI's part, `all` (default: ci)")
    parser.add_argument("--table", type=Path, default=TABLE, help="of suites")
    parser.add_argument("--archives", type=Path, default=Path("build/others"), help="where distributions are kept")
    parser.add_argument("--jobs", type=int, default=2, help="suites that run at the same time")
    arguments = parser.parse_args()
    suites = chosen(read_suites(arguments.table), arguments.suites or ["ci"])
    archives = {suite.source: fetch(suite.source, arguments.archives.resolve()) for suite in suites if suite.source}
    # Shells let background jobs ignore SIGINT, and programs inherit that; a handler of ours they do not.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    work = Path(tempfile.mkdtemp(prefix="rlscope-others-"))

    def compared(suite: Suite) -> Compared:
        archive = archives[suite.source] if suite.source else None
        found = compare(suite, functools.partial(run, suite, archive, work=work))
        print("done:", *found.row(), sep="  ", flush=True)
        return found

    with ThreadPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(compared, suites))
    print_table([HEAD, *(result.row() for result in results)])
    for result in results:
        for name in result.flaky:
            print(f"flaky without recording: {result.suite.name}: {name}")
        for name, (plain, recorded) in list(result.different.items())[:SHOWN]:
            print(f"differs: {result.suite.name}: {name}: {plain} plain, {recorded} recorded")
    complaints = [f"{result.suite.name}: {result.complaint}" for result in results if result.complaint]
    print(*(complaints or [f"recording changed nothing in {len(results)} suites"]), sep="\n")
    if not complaints:
        shutil.rmtree(work)
    return 1 if complaints else 0


def chosen(suites: list[Suite], names: list[str]) -> list[Suite]:
    """The suites of these names.

    Raises:
        SystemExit: There is none of a name, or its environment is not installed.
    """
    known = {suite.name for suite in suites} | {"ci", "all"}
    for name in names:
        if name not in known:
            raise SystemExit(f"expected one of {', '.join(sorted(known))}, found {name}")
    wanted = [suite for suite in suites if suite.name in names or "all" in names or ("ci" in names and suite.ci)]
    for suite in wanted:
        if not suite.python.exists():
            raise SystemExit(f"expected {suite.python} for {suite.name}, found none; `make test-others` makes it")
    return wanted


def print_table(rows: list[tuple[str, ...]]) -> None:
    """Prints rows in columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


if __name__ == "__main__":
    raise SystemExit(main())
