"""This file shows where the threads of a run are, those of the chain of waits first: `rlscope why`."""

from rlscope.analysis.hang.places import Process, Thread
from rlscope.analysis.hang.seen import Life
from rlscope.analysis.hang.standing import Standing
from rlscope.analysis.hang.words import doing, life_words, whose
from rlscope.model import NS_PER_S
from rlscope.report.screen import Screen, cell_len, padded
from rlscope.text.numbers import duration

GAP = "  "


def hang_lines(found: Standing, screen: Screen) -> list[str]:
    """Return the answer, then a line for each thread of the chain, then one for each of the others."""
    chain = found.chain
    answer = f"{'stuck' if found.is_stuck else 'not stuck'}: {found.sentence}"
    lines = screen.filled(screen.shown(answer))
    if chain is None:
        return lines
    rows = [_cells(found, thread) for thread in chain.threads]
    if chain.end is not None:
        rows.append(_life_cells(chain.end))
    others = [_cells(found, thread) for thread in found.threads if thread not in chain.threads]
    over = [process for process in found.waits.processes if process.life is not Life.RUNNING]
    others += [_life_cells(process) for process in over if process is not chain.end]
    table = _table([*rows, *others], screen)
    lines += ["", *table[: len(rows)]]
    return [*lines, "", "others:", *table[len(rows) :]] if others else lines


def _cells(found: Standing, thread: Thread) -> tuple[str, ...]:
    length = duration(max(found.waits.now_ns - thread.since_ns, 0) / NS_PER_S)
    return whose(thread), length, doing(thread), thread.line, f"{thread.function} {thread.channel}".strip()


def _life_cells(process: Process) -> tuple[str, ...]:
    zombie = ", and its parent has not asked how" if process.seen is not None and process.seen.is_zombie else ""
    return process.name, "", life_words(process) + zombie, "", ""


def _table(rows: list[tuple[str, ...]], screen: Screen) -> list[str]:
    """Return rows as lines, without the functions in C where there is no place for them."""
    shown = [[screen.shown(cell) for cell in row] for row in rows]
    # A cell with nothing behind it needs no column.
    followed = [[cell if any(row[place + 1 :]) else "" for place, cell in enumerate(row)] for row in shown]
    widths = [max(map(cell_len, column)) for column in zip(*followed, strict=True)]
    lines = [(GAP + GAP.join(map(padded, row, widths))).rstrip() for row in shown]
    if max(map(cell_len, lines)) > screen.width and any(row[-1] for row in rows):
        return _table([(*row[:-1], "") for row in rows], screen)
    return [screen.cut(line, screen.width) for line in lines]
