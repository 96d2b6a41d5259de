"""This file shows where the threads of a run are, those of the chain of waits first: `rlscope why`."""

from rlscope.analysis.hang.places import Process, Thread
from rlscope.analysis.hang.seen import Life
from rlscope.analysis.hang.standing import Standing
from rlscope.analysis.hang.words import doing, life_words, whose
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


def _cells(found: Standing, thread: Thread) -> tuple[str, str, str, str]:
    length = duration(max(found.waits.now_ns - thread.since_ns, 0) / 1e9)
    name = f"{thread.function} {thread.channel}".strip()
    what = doing(thread) + (f" in {name}" if name and name not in doing(thread) else "")
    return whose(thread), length, what, thread.line


def _life_cells(process: Process) -> tuple[str, str, str, str]:
    zombie = ", and its parent has not asked how" if process.seen is not None and process.seen.is_zombie else ""
    return process.name, "", life_words(process) + zombie, ""


def _table(rows: list[tuple[str, str, str, str]], screen: Screen) -> list[str]:
    shown = [[screen.shown(cell) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*shown, strict=True)]
    lines = (GAP.join(map(padded, row, widths)) for row in shown)
    return [screen.cut((GAP + line).rstrip(), screen.width) for line in lines]
