"""The words of an account: what a screen, a page and a notebook call its rows, which of one name are one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rlscope.analysis.account.account import AccountRow, public_name
from rlscope.analysis.account.causes import Cause
from rlscope.analysis.run_tables import RunTables
from rlscope.model import CATEGORIES, Category
from rlscope.text import line_text, printable
from rlscope.text.numbers import digits, duration, percent

#: Who wanted the cores is said where waiting for one has such a share.
LEAST_SAID = 0.05
#: Smaller causes are counted together.
LEAST_SHARE = 0.005
#: So many causes are in a sentence.
MOST_SAID = 4
#: What people call backends, by their packages.
BACKENDS = {"torch": "PyTorch", "tensorflow": "TensorFlow", "jax": "JAX"}


class Line(NamedTuple):
    """A cause as a screen shows it.

    Attributes:
        name: What it is called.
        seconds: How long.
        share: Of the wall time, from 0 to 1.
        where: Where most of it is, or who wanted the cores.
        layer: The layer of the stack; empty: of several.
        is_of_others: Whether it is because of other programs, so that nothing in this one changes it.
    """

    name: str
    seconds: float
    share: float
    where: str
    layer: str
    is_of_others: bool = False


def account_lines(tables: RunTables) -> list[Line]:
    """Return the causes of an account, the longest first: rows of one name, in no stage of one line, are one.

    What other programs cause comes last.
    """
    found: dict[tuple[str, str], Line] = {}
    layers = layer_words(tables)
    for row in tables.account:
        name, where = row_words(row, layers), _where(row, tables)
        key = name, "" if Cause(row.cause).is_known else where
        is_of_others = row.cause == Cause.NO_CORE and tables.cores.is_others_doing
        line = found.get(key, Line(name, 0.0, 0.0, where, row.category, is_of_others))
        found[key] = line._replace(seconds=line.seconds + row.seconds, share=line.share + row.share)
    return sorted(found.values(), key=lambda line: (line.is_of_others, -line.seconds))


def account_sentence(tables: RunTables) -> str:
    """Say in one line where the time went, the longest causes first; empty if no process took time."""
    lines = folded(account_lines(tables), MOST_SAID)
    if not lines or tables.path is None:
        return ""
    causes = "; ".join(
        f"{line.name} {duration(line.seconds)} ({percent(line.share)}{f'; {line.where}' if line.where else ''})"
        for line in lines
    )
    return printable(f"{duration(sum(line.seconds for line in lines))} of {tables.path.process}: {causes}")


def account_title(tables: RunTables) -> str:
    """Return what stands above the lines: whose time it is, where there are several processes."""
    of = f" ({tables.path.process}, which paces the run)" if tables.path and len(tables.processes) > 1 else ""
    return f"Where the time went{of}"


def row_words(row: AccountRow, layers: Mapping[str, str]) -> str:
    """Return what a screen calls a row of an account: `simulation, PyTorch`, `waiting for worker-1 to 4`.

    Of native code it says of which module, where that is known: `simulation, Native code of libphysics`.

    Args:
        row: Of the account.
        layers: What layers are called.
    """
    cause = Cause(row.cause)
    of = f" of {row.module}" if row.module else ""
    layer = f", {layers.get(row.category, row.category)}{of}" if cause.has_layers else ""
    if cause in (Cause.WAITING, Cause.DISK):
        on = row.on if row.on.startswith("_") else public_name(row.on)
        return f"{cause.words}{' for' if row.assumed else ' in'} {on}" if on else cause.words
    if cause in (Cause.MESSAGES, Cause.PROCESSES, Cause.SLOWEST):
        return f"{cause.words}, {row.on}"
    if cause in (Cause.PICKLING, Cause.MAKING, Cause.OPERATOR_THREADS):
        return f"{cause.words}{f' in {row.on}' if row.on else ''}"
    if cause is Cause.GPU:
        return f"{cause.words}, {Cause(row.stage).words}" if row.stage else cause.words
    return f"{cause.words}{layer}{f' in {row.on}' if row.on and cause.has_layers else ''}"


def backends(tables: RunTables) -> set[str]:
    """Return the packages of the backends that a run used."""
    return {row.boundary.partition(".")[0] for row in tables.crossings} & BACKENDS.keys()


def layer_words(tables: RunTables) -> dict[str, str]:
    """Return what layers are called: the backend by its name, if the run has only one."""
    used = backends(tables)
    words = {label: category.words for label, category in CATEGORIES.items()}
    return words | ({Category.BACKEND.label: BACKENDS[used.pop()]} if len(used) == 1 else {})


def folded(lines: Sequence[Line], most: int) -> list[Line]:
    """Return as many of the lines as fit, the longest, and what the others sum to."""
    longest = sorted(lines, key=lambda line: -line.seconds)
    kept = [line for line in longest[:most] if line.share >= LEAST_SHARE] or longest[:1]
    shown, rest = [line for line in lines if line in kept], longest[len(kept) :]
    if len(rest) == 1 and len(shown) < most:
        return [*shown, *rest]
    if rest:
        seconds, share = sum(line.seconds for line in rest), sum(line.share for line in rest)
        shown.append(Line(f"{len(rest)} more", seconds, share, "", ""))
    return shown


def _where(row: AccountRow, tables: RunTables) -> str:
    """Say where most of a row is, or who wanted the cores."""
    cores = tables.cores
    if row.cause == Cause.NO_CORE:
        if row.share < LEAST_SAID or cores.ready_threads is None or cores.usable is None:
            return ""
        if cores.is_others_doing:
            return f"other programs had them: {digits(cores.ready_threads)} threads for {digits(cores.usable)} cores"
        of = "threads" if cores.is_own_doing else "threads of all programs"
        return f"{digits(cores.ready_threads)} {of} ready for {digits(cores.usable)} cores"
    if not row.line:
        return ""
    what = row.called if Cause(row.cause).is_known else _unnamed(row)
    place = line_text(row.file, row.line)
    return f"{what}, {place}" if what else place


def _unnamed(row: AccountRow) -> str:
    """Say what the program does where nothing is known of it: its own function, and what that called there."""
    function = row.function.rpartition("<locals>.")[2]
    is_helper = row.called.rpartition(".")[2].startswith("_")
    if function.startswith("<"):  # a module or a lambda, which tells nothing
        return row.called
    return f"{row.called} in {function}" if row.called and not is_helper else function


def unnamed_share(tables: RunTables) -> float:
    """Return the share of the wall time that is in no stage, or no loop, at lines of the program, from 0 to 1."""
    return sum(row.share for row in tables.account if not Cause(row.cause).is_known and row.line)


def unknown_share(tables: RunTables) -> float:
    """Return the share of the wall time of which neither a cause nor a line of the program is known, from 0 to 1."""
    return sum(row.share for row in tables.account if not Cause(row.cause).is_known and not row.line)
