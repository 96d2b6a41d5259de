"""This file finds of what kind a wait is: by its channel, or as the function that waits is declared."""

from collections.abc import Iterator
from functools import cache
from importlib import import_module

from rlscope.analysis.ranks.matching import COMMUNICATOR
from rlscope.record.blocking import COMMUNICATION, DISK, MAY_WAIT, NETWORK, PIPE, WAITS

#: The channel of calls on files, which lead to no other process.
FILE = "file"
#: Kinds by how channels begin.
OF_CHANNELS = {
    FILE: DISK,
    "pipe:": PIPE,
    "socket:": PIPE,
    "tcp:": NETWORK,
    "udp:": NETWORK,
    COMMUNICATOR: COMMUNICATION,
}


def kind_of_wait(function: str, channel: str) -> str:
    """Return one of `KINDS` in rlscope/record/blocking.py; "" where that is not known, as of `(blocked)`.

    Types may have other names than they are declared by (`_thread.LockType` is `_thread.lock`), so a function is told
    by its package and its last name.
    """
    for beginning, kind in OF_CHANNELS.items():
        if channel.startswith(beginning):
            return kind
    package, _, path = function.partition(".")
    return _kinds_in(package).get(path.rpartition(".")[2], "")


@cache
def _kinds_in(package: str) -> dict[str, str]:
    return {dotted.rpartition(".")[2]: kind for dotted, kind in _declared(package)}


def _declared(package: str) -> Iterator[tuple[str, str]]:
    """Yield the functions of a package of which a kind is declared, with it."""
    for by_kind in (WAITS.get(package, {}), MAY_WAIT.get(package, {})):
        for kind, functions in by_kind.items():
            yield from ((dotted, kind) for dotted in functions)
    from rlscope.libraries import LIBRARIES  # which a trace without waits does not need

    for file, packages in LIBRARIES.items():
        if package in packages:
            for boundary in vars(import_module(file)).get("BOUNDARIES", ()):
                if boundary.waits_for:
                    yield from ((dotted, boundary.waits_for) for dotted in boundary.functions)
