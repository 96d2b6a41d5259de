"""This file starts the command: until all is loaded, Ctrl-C ends it as it ends any program, without a traceback."""

import gc
import signal
import sys

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not where it is to be ignored
    signal.signal(signal.SIGINT, signal.SIG_DFL)

#: Classes, tables and rows stay until a verb ends; looking for garbage among them takes 6 to 16 % of an analysis.
OBJECTS_PER_COLLECTION = 100_000


def main(*verb: str) -> None:
    """Run the command line, behind `verb` if there is one."""
    gc.set_threshold(OBJECTS_PER_COLLECTION)
    from rlscope.cli.main import main as run

    run([*verb, *sys.argv[1:]])


# The names of 2021.
def rls_prof() -> None:
    """Run `rlscope record`."""
    main("record")


def rls_analyze() -> None:
    """Run `rlscope analyze`."""
    main("analyze")


def rls_calibrate() -> None:
    """Run `rlscope calibrate`."""
    main("calibrate")


def rls_plot() -> None:
    """Run `rlscope plot`."""
    main("plot")
