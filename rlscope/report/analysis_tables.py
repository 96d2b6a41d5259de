"""Print what `rlscope analyze` shows in a terminal: of one trace, or of several one after the other."""

import os
from collections.abc import Sequence

import click

from rlscope.analysis.advice.advice import Advice
from rlscope.analysis.analysis import Analysis
from rlscope.analysis.outline.tree import LEAST_SHARE, life_parts, tree_lines
from rlscope.analysis.rows import Record, sums
from rlscope.analysis.stage_names import stage_name_lines
from rlscope.analysis.table_rows import TransitionRow
from rlscope.analysis.tables.breakdown import CORRECTED
from rlscope.analysis.tables.purposes import OF_PART, seconds_beside_training
from rlscope.model import NO_OPERATION, LifePart
from rlscope.report.bars import Part, bar_lines, tree_parts
from rlscope.report.counter_lines import counter_lines, counters_shown
from rlscope.report.device_tables import (
    gpus_shown,
    idle_shown,
    launches_shown,
    operations_on_gpus,
    shares_shown,
    sync_points_shown,
)
from rlscope.report.first_screen import screen_lines
from rlscope.report.joined import joined
from rlscope.report.process_tables import (
    TOTALS,
    call_sites_shown,
    collectives_shown,
    memory_shown,
    phases_shown,
    process_lines,
    process_tree,
    ranks_shown,
    stragglers_shown,
    waited_for,
    waits_shown,
)
from rlscope.report.screen import Screen
from rlscope.report.sentences import (
    COLLECTIVES_TITLE,
    DEVICE_RANKS_TITLE,
    KERNELS_TITLE,
    RANKS_TITLE,
    SAMPLES_TITLE,
    STRAGGLERS_TITLE,
    TAILS_TITLE,
    TASKS_TITLE,
    correction_lines,
    evaluation_lines,
    machine_lines,
    misnested_lines,
)
from rlscope.report.tables import most, number, table_lines, where_text
from rlscope.text import line_text
from rlscope.text.numbers import digits, digits_ends

#: As many changes are worth trying at once.
CHANGES_SHOWN = 2
EDGES_SHOWN = 20
TRANSITIONS_SHOWN = 10
SITES_TITLE = "Lines that made native calls"
#: The function of time outside any recorded call.
PYTHON = "(Python)"
#: The function of time after the last stack of an operation that was seen.
UNSEEN = "(after the last stack)"


def print_analyses(analyses: Sequence[Analysis], is_whole: bool) -> None:
    """Print each analysis: what bounds the run, where its time went, tables that say more, and notes.

    Args:
        analyses: Of the traces.
        is_whole: Whether nothing is to be left out that is small.
    """
    screen = Screen.of_stdout()
    for place, analysis in enumerate(analyses):
        lines = _Text(analysis, screen, True).lines() if is_whole else screen_lines(analysis, screen)
        _print(([""] if place else []) + lines)


def print_breakdown(analyses: Sequence[Analysis], breakdowns: Sequence[Sequence[Record]], is_whole: bool) -> None:
    """Print breakdowns as one table.

    Args:
        analyses: Of the traces.
        breakdowns: Theirs, in the same order, summed as they are to be shown.
        is_whole: Whether a long table is to be shown to its end.
    """
    screen = Screen.of_stdout()
    lines = [line for analysis in analyses for line in _head(analysis, screen)]
    breakdown = joined(analyses, breakdowns)
    whole_s = sums((row.get("trace"), number(row["seconds"])) for row in breakdown)
    shown = [_with_interval(row, whole_s[row.get("trace")]) for row in breakdown]
    if any(analysis.calls for analysis in analyses):
        lines += ["", *_calls(shown, screen, is_whole)]
    elif any("line" in row for row in shown):
        named = sorted(map(_with_line, shown), key=lambda row: -number(row["seconds"]))
        lines += ["", *_most("Python by line", named, "seconds", screen, is_whole)]
        for analysis in analyses:
            if sites := call_sites_shown(analysis):
                lines += ["", *_most(SITES_TITLE, _without_trivial(sites), "stacks", screen, is_whole)]
    else:
        lines += ["", *_most("Breakdown", shown, "seconds", screen, is_whole)]
    notes = [
        f"{analysis.directory}: {note}" if len(analyses) > 1 else note
        for analysis in analyses
        for note in _facts(analysis)
    ]
    if any(analysis.calls and analysis.correction for analysis in analyses):
        notes.append("seconds by function are as recorded, for they cannot be corrected")
    if notes:
        lines += ["", *_listed("Notes", notes, screen)]
    _print(lines)


def _with_line(row: Record) -> Record:
    """Return a row of a line with file and line as one text."""
    place = line_text(str(row["file"]), round(number(row["line"]))) if row["line"] else ""
    return {name: value for name, value in row.items() if name != "file"} | {
        "function": row["function"] or UNSEEN,
        "line": place,
    }


def _print(lines: Sequence[str]) -> None:
    """Write lines; one that nothing stands before is a title, which a terminal shows bold."""
    titles = {place + 1 for place, line in enumerate(lines) if not line} | {0}
    shown = [click.style(line, bold=True) if place in titles else line for place, line in enumerate(lines)]
    click.echo("\n".join(shown), color=False if os.environ.get("NO_COLOR") else None)


class _Text:
    """The lines of one analysis."""

    def __init__(self, analysis: Analysis, screen: Screen, is_whole: bool) -> None:
        self._analysis = analysis
        self._screen = screen
        self._is_whole = is_whole

    def lines(self) -> list[str]:
        """Return all lines: sections with an empty line between two."""
        tables = (
            self._tree(),
            self._purposes(),
            *self._processes(),
            *self._ranks(),
            self._transitions(),
            self._tasks(),
            *self._samples(),
            *self._devices(),
        )
        sections = [self._bound(), *tables, self._notes()]
        lines = _head(self._analysis, self._screen)
        for section in sections:
            lines += ["", *section] if section else []
        return lines

    def _bound(self) -> list[str]:
        """Say what bounds the run, and which changes are worth trying."""
        advice = self._analysis.advice
        if advice is None:
            return []
        said = advice.sentences
        lines = self._screen.filled(said.causes[0], following="  ")
        lines += bar_lines(_life(self._analysis, advice, self._is_whole), self._screen)
        for sentence in (*said.purposes, *said.lines, *said.waits, *said.memory):
            lines += self._screen.filled(sentence, "- ", "  ")
        if changes := advice.worth_trying:
            lines.append("Worth trying, at most:")
            for change in changes if self._is_whole else changes[:CHANGES_SHOWN]:
                lines += self._screen.filled(change, "- ", "  ")
        for sentence in () if changes else said.changes:
            lines += self._screen.filled(sentence)
        return lines

    def _tree(self) -> list[str]:
        analysis = self._analysis
        whole = tree_parts(tree_lines(analysis, self._is_whole))
        if not whole or analysis.path is None:
            return []
        of = "the process"
        if len(analysis.processes) > 1:
            of = "each process" if self._is_whole else analysis.path.process
        corrected = ", without what recording added" if analysis.correction is not None else ""
        title = self._screen.shown(f"Where the time of {of} went{corrected}")
        return [self._screen.cut(title, self._screen.width), *bar_lines(whole, self._screen)]

    def _purposes(self) -> list[str]:
        """Say what the time of the process that paces the run was for, where that is not training alone."""
        path = self._analysis.path
        seconds = {} if path is None else seconds_beside_training(self._analysis.purposes, path.process)
        whole_s = sum(seconds.values())
        least_s = 0.0 if self._is_whole else LEAST_SHARE * whole_s
        if path is None or not any(s >= least_s for purpose, s in seconds.items() if purpose not in OF_PART.values()):
            return []
        shown: list[Record] = [
            {"purpose": purpose.words, "seconds": s, "percent": 100 * s / whole_s} for purpose, s in seconds.items()
        ]
        shares = [s / whole_s for s in seconds.values()]
        return self._large(f"What the time of {path.process} was for", shown, shares, len(shown))

    def _processes(self) -> list[list[str]]:
        """Return tree, trainings, phases, waits, dependencies and memory of processes, each only where there is any."""
        analysis = self._analysis
        found = []
        if len(analysis.processes) > 1:
            names = _processes_shown(analysis)
            rows = [{name: row[name] for name in names} for row in process_tree(analysis)]
            found.append(_most("Processes", rows, "wall_s", self._screen, self._is_whole))
        if any(row.training > 1 for row in analysis.trainings):
            trainings = analysis.trainings.records()
            found.append(self._large("Trainings", trainings, [1.0] * len(trainings), EDGES_SHOWN))
        if phases := phases_shown(analysis):
            found.append(self._most("Phases", phases, "wall_s"))
        if waits := waits_shown(analysis):
            found.append(self._large("Waits", waits, [number(row["percent"]) / 100 for row in waits], EDGES_SHOWN))
        if edges := waited_for(analysis):
            named = [{"calls" if name == "count" else name: cell for name, cell in row.items()} for row in edges]
            found.append(self._large("Who waited for whom", named, [1.0] * len(edges), EDGES_SHOWN))
        if memory := memory_shown(analysis):
            found.append(self._large("Memory: the most, by stage", memory, [1.0] * len(memory), EDGES_SHOWN))
        return found

    def _ranks(self) -> list[list[str]]:
        """Return what ranks did with their time, who kept them waiting, and their calls; nothing without ranks."""
        tables = (
            (RANKS_TITLE, ranks_shown(self._analysis), "wall_s"),
            (DEVICE_RANKS_TITLE, self._analysis.device_ranks.records(), "wall_s"),
            (STRAGGLERS_TITLE, stragglers_shown(self._analysis), "late_s"),
        )
        found = [_most(title, rows, column, self._screen, self._is_whole) for title, rows, column in tables if rows]
        for title, rows in (
            (COLLECTIVES_TITLE, self._analysis.collectives),
            (KERNELS_TITLE, self._analysis.collective_kernels),
        ):
            calls = collectives_shown(rows)
            waited_s = [number(row["wait_s"]) + number(row["transfer_s"]) for row in calls]
            whole_s = max(waited_s, default=0.0)
            shares = [each_s / whole_s if whole_s else 1.0 for each_s in waited_s]
            found += [self._large(title, calls, shares, EDGES_SHOWN)] if calls else []
        return found

    def _transitions(self) -> list[str]:
        rows = sorted(self._analysis.transitions, key=lambda row: -row.count)
        whole = sum(row.count for row in rows)
        shares = [row.count / whole if whole else 0.0 for row in rows]
        shown = [_transition(row, len(self._analysis.processes) > 1) for row in rows]
        return self._large("Transitions from one layer into another", shown, shares, TRANSITIONS_SHOWN) if rows else []

    def _tasks(self) -> list[str]:
        tasks = self._analysis.tasks.records()
        return self._most(TASKS_TITLE, tasks, "elapsed_s") if tasks else []

    def _samples(self) -> list[list[str]]:
        samples, tails = self._analysis.samples.records(), self._analysis.sample_tails.records()
        if not samples:
            return []
        found = [self._most(SAMPLES_TITLE, samples, "count")]
        return (
            [*found, self._most(TAILS_TITLE, tails, "tail_s")]
            if any(row.tail_s for row in self._analysis.sample_tails)
            else found
        )

    def _devices(self) -> list[list[str]]:
        """Devices, what was launched on them, and hardware counters; nothing where there are none."""
        analysis = self._analysis
        found = []
        if analysis.gpu:
            found.append(table_lines("GPUs", gpus_shown(analysis), self._screen))
            operations = operations_on_gpus(analysis)
            found.append(self._most("GPU time by launching operation", operations, "busy_s"))
        if analysis.device_shares:
            found.append(table_lines("Who had the GPU", shares_shown(analysis), self._screen))
        if switches := analysis.device_switches.records():
            found.append(self._most("How the GPU passed from one process to another", switches, "seconds"))
        if analysis.sync_points:
            found.append(self._most("Where the CPU waited for the GPU", sync_points_shown(analysis), "seconds"))
        if analysis.launches:
            found.append(self._most("Whose launches the GPU waited for", launches_shown(analysis), "graph_saves_s"))
        if analysis.device_idle:
            idle = idle_shown(analysis)
            shares_of_idle = [number(row["percent"]) / 100 for row in idle]
            title = "Why GPUs did nothing in the training loop"
            found.append(self._large(title, idle, shares_of_idle, len(idle)))
        if analysis.counters:
            counters = counters_shown(analysis.counters)
            found.append(self._most("Hardware counters by launching operation", counters, "busy_s"))
        return found

    def _notes(self) -> list[str]:
        advice = self._analysis.advice
        notes = [*(advice.sentences.limits if advice is not None else ()), *process_lines(self._analysis)]
        notes += _facts(self._analysis)
        if not self._is_whole:
            notes.append("`--all` shows what is below 1 % too")
        return _listed("Notes", notes, self._screen) if notes else []

    def _most(self, title: str, rows: Sequence[Record], column: str) -> list[str]:
        return _most(title, _without_trivial(rows), column, self._screen, self._is_whole)

    def _large(self, title: str, rows: Sequence[Record], shares: Sequence[float], most_rows: int) -> list[str]:
        return _large(title, rows, shares, most_rows, self._screen, self._is_whole)


def _life(analysis: Analysis, advice: Advice, is_whole: bool) -> list[Part]:
    """Return the parts of the life of the process that paces the run, and the causes of the part that advice is of.

    Small causes are one part, unless there is only one.
    """
    parts = life_parts(analysis, advice.process)
    wall_s = sum(branch.seconds for branch in parts.values())
    small = [] if is_whole else [each for each in advice.causes if each.share < LEAST_SHARE]
    shown = [(each.cause.words, each.seconds) for each in advice.causes if len(small) < 2 or each not in small]
    if len(small) > 1:
        shown.append((f"{len(small)} more below 1 %", sum(each.seconds for each in small)))
    causes = [Part(1, words, seconds, seconds / wall_s) for words, seconds in shown]
    advised = LifePart.LOOP if LifePart.LOOP in parts else LifePart.UNPLACED
    found = []
    for part, branch in parts.items():
        found += [Part(0, part.value, branch.seconds, branch.share), *(causes if part is advised else ())]
    return found


def _listed(title: str, sentences: Sequence[str], screen: Screen) -> list[str]:
    lines = [title]
    for sentence in sentences:
        lines += screen.filled(sentence, "- ", "  ")
    return lines


def _head(analysis: Analysis, screen: Screen) -> list[str]:
    """Say what was recorded, and what of it is missing."""
    lines = screen.filled(f"{analysis.directory}: {analysis.summary}", following="  ")
    for reason in analysis.why:
        lines += screen.filled(f"incomplete: {reason}", "  ", "    ")
    return lines


def _facts(analysis: Analysis) -> list[str]:
    """Say what a reader of the numbers must know besides."""
    return [
        *evaluation_lines(analysis), *machine_lines(analysis.machines),
        *counter_lines(analysis), *correction_lines(analysis), *stage_name_lines(analysis), *misnested_lines(analysis),
    ]  # fmt: skip


def _most(title: str, rows: Sequence[Record], column: str, screen: Screen, is_whole: bool) -> list[str]:
    """Return a table, of a long one the rows with most of what is in a column."""
    shown, rest = (rows, "") if is_whole else most(rows, column)
    return [*table_lines(title, shown, screen), *([f"  {rest} with --all"] if rest else [])]


def _large(
    title: str, rows: Sequence[Record], shares: Sequence[float], most_rows: int, screen: Screen, is_whole: bool
) -> list[str]:
    """Return a table of the first `most_rows` rows of those that are sorted by shares, but none below 1 %."""
    large = [row for row, share in zip(rows, shares, strict=True) if is_whole or share >= LEAST_SHARE]
    shown = large if is_whole else large[:most_rows]
    lines = table_lines(title, _without_trivial(shown), screen) if shown else [title]
    if (rest := len(rows) - len(shown)) > 0:
        lines.append(f"  {rest:,}{' more' if shown else ''}{' below 1 %' if len(shown) == len(large) else ''}")
    return lines


def _calls(rows: Sequence[Record], screen: Screen, is_whole: bool) -> list[str]:
    """Return the table of calls, of each trace those with most time first."""
    named = [_call(row) for row in rows]
    traces = list(dict.fromkeys(row.get("trace") for row in named))
    named.sort(key=lambda row: (traces.index(row.get("trace")), -number(row["percent"])))
    shares = [number(row["percent"]) / 100 for row in named]
    lines = _large("Calls by function", named, shares, len(named), screen, is_whole)
    return lines if is_whole or min(shares) >= LEAST_SHARE else [*lines[:-1], f"{lines[-1]}; --all shows them"]


def _call(row: Record) -> Record:
    """Return a row of calls with the stage and the operation as one name, and a name for Python."""
    shown: Record = {}
    for name, cell in row.items():
        if name == "stage" and "operation" in row:
            shown["where"] = where_text(cell, row["operation"])
        elif name == "function":
            shown[name] = cell or PYTHON
        elif name != "operation" or "stage" not in row:
            shown[name] = cell
    return shown


def _processes_shown(analysis: Analysis) -> list[str]:
    """Return the columns of processes that say something: exit status and completeness if one is not as usual."""
    shown = ["process", "pid", "role"]
    if len(analysis.machines) > 1:
        shown.insert(1, "machine")
    if any(row.exit_status for row in analysis.processes):
        shown.append("exit_status")
    if not all(row.complete for row in analysis.processes):
        shown.append("complete")
    shown += ["start_s", "wall_s"]
    if analysis.correction:
        shown.append("corrected_wall_s")
    return [*shown, *(name for name in TOTALS if name != "gpu_s" or analysis.gpu)]


def _transition(row: TransitionRow, with_process: bool) -> Record:
    """Return a row with the stage and the operation as one name."""
    shown: Record = {"process": row.process} if with_process else {}
    shown |= {"where": where_text(row.stage, row.operation), "from": row.from_, "to": row.to, "count": row.count}
    return shown | {"per_iteration": row.per_iteration, "per_timestep": row.per_timestep}


def _with_interval(row: Record, whole_s: float) -> Record:
    """Return a row with corrected seconds and their interval as one column, and the share of the whole in percent."""
    shown = {name: value for name, value in row.items() if not name.startswith("corrected")}
    corrected = [row.get(name) for name in CORRECTED]
    if corrected[0] is not None:
        seconds, low, high = map(number, corrected)
        ends = digits_ends(low, high)
        shown["corrected"] = digits(seconds) + (f" {ends}" if ends != digits_ends(seconds, seconds) else "")
    return shown | {"percent": 100 * number(row["seconds"]) / whole_s if whole_s else 0.0}


def _without_trivial(rows: Sequence[Record]) -> Sequence[Record]:
    """Leave out columns that say nothing: one process only, no phase, rates that are unknown."""
    columns = list(rows[0]) if rows else []
    values = {name: {row[name] for row in rows} for name in columns}
    trivial = {name for name in ("per_iteration", "per_timestep") if values.get(name) == {None}}
    trivial |= {name for name in ("phase", "stage") if values.get(name) == {NO_OPERATION}}
    if len(values.get("process", ())) == 1:
        trivial.add("process")
    return [{name: row[name] for name in columns if name not in trivial} for row in rows]
