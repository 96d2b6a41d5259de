"""Print what `rlscope analyze` shows in a terminal: of one trace, or of several one after the other."""

from collections.abc import Sequence

from rlscope.analysis.account.observations import notes
from rlscope.analysis.analysis import Analysis
from rlscope.analysis.outline.tree import LEAST_SHARE, tree_lines
from rlscope.analysis.rows import Record, sums
from rlscope.analysis.table_rows import TransitionRow
from rlscope.analysis.tables.breakdown import CORRECTED
from rlscope.analysis.tables.purposes import OF_PART, seconds_beside_training
from rlscope.model import NO_OPERATION
from rlscope.report.bars import bar_lines, tree_parts
from rlscope.report.device_tables import (
    counters_shown,
    gpus_shown,
    idle_shown,
    launches_shown,
    operations_on_gpus,
    shares_shown,
    sync_points_shown,
)
from rlscope.report.first_screen import whole_lines
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
from rlscope.report.screen import Screen, print_lines, print_parts
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
    counter_lines,
    evaluation_lines,
    machine_lines,
    misnested_lines,
    stage_name_lines,
)
from rlscope.report.tables import most, number, table_lines, where_text
from rlscope.text import line_text
from rlscope.text.numbers import digits, digits_ends

SITES_TITLE = "Lines that made native calls"
#: The function of time outside any recorded call.
PYTHON = "(Python)"
#: The function of time after the last stack of an operation that was seen.
UNSEEN = "(after the last stack)"


def print_whole(analyses: Sequence[Analysis]) -> None:
    """Print all of each analysis: the whole account, tables that say more, and notes."""
    screen = Screen.of_stdout()
    print_parts([_Text(analysis, screen).lines() for analysis in analyses])


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
    print_lines(lines)


def _with_line(row: Record) -> Record:
    """Return a row of a line with file and line as one text."""
    place = line_text(str(row["file"]), round(number(row["line"]))) if row["line"] else ""
    return {name: value for name, value in row.items() if name != "file"} | {
        "function": row["function"] or UNSEEN,
        "line": place,
    }


class _Text:
    """All lines of one analysis: the account, all tables, and notes."""

    def __init__(self, analysis: Analysis, screen: Screen) -> None:
        self._analysis = analysis
        self._screen = screen

    def lines(self) -> list[str]:
        """Return all lines: sections with an empty line between two."""
        sections = (
            self._tree(),
            self._purposes(),
            *self._processes(),
            *self._ranks(),
            self._transitions(),
            self._tasks(),
            *self._samples(),
            *self._devices(),
            self._notes(),
        )
        lines = [*_head(self._analysis, self._screen), *whole_lines(self._analysis, self._screen)]
        for section in sections:
            lines += ["", *section] if section else []
        return lines

    def _tree(self) -> list[str]:
        analysis = self._analysis
        whole = tree_parts(tree_lines(analysis, is_whole=True))
        if not whole or analysis.path is None:
            return []
        of = "each process" if len(analysis.processes) > 1 else "the process"
        corrected = ", without what recording added" if analysis.correction is not None else ""
        title = self._screen.shown(f"Where the time of {of} went{corrected}")
        return [self._screen.cut(title, self._screen.width), *bar_lines(whole, self._screen)]

    def _purposes(self) -> list[str]:
        """Say what the time of the process that paces the run was for, where that is not training alone."""
        path = self._analysis.path
        seconds = {} if path is None else seconds_beside_training(self._analysis.purposes, path.process)
        whole_s = sum(seconds.values())
        if path is None or all(purpose in OF_PART.values() for purpose in seconds):
            return []
        shown: list[Record] = [
            {"purpose": purpose.words, "seconds": s, "percent": 100 * s / whole_s} for purpose, s in seconds.items()
        ]
        return self._table(f"What the time of {path.process} was for", shown)

    def _processes(self) -> list[list[str]]:
        """Return tree, trainings, phases, waits, dependencies and memory of processes, each only where there is any."""
        analysis = self._analysis
        found = []
        if len(analysis.processes) > 1:
            names = _processes_shown(analysis)
            rows = [{name: row[name] for name in names} for row in process_tree(analysis)]
            found.append(table_lines("Processes", rows, self._screen))
        if any(row.training > 1 for row in analysis.trainings):
            found.append(self._table("Trainings", analysis.trainings.records()))
        if phases := phases_shown(analysis):
            found.append(self._table("Phases", phases))
        if waits := waits_shown(analysis):
            found.append(self._table("Waits", waits))
        if edges := waited_for(analysis):
            named = [{"calls" if name == "count" else name: cell for name, cell in row.items()} for row in edges]
            found.append(self._table("Who waited for whom", named))
        if memory := memory_shown(analysis):
            found.append(self._table("Memory: the most, by stage", memory))
        return found

    def _ranks(self) -> list[list[str]]:
        """Return what ranks did with their time, who kept them waiting, and their calls; nothing without ranks."""
        tables = (
            (RANKS_TITLE, ranks_shown(self._analysis)),
            (DEVICE_RANKS_TITLE, self._analysis.device_ranks.records()),
            (STRAGGLERS_TITLE, stragglers_shown(self._analysis)),
        )
        calls = (
            (COLLECTIVES_TITLE, collectives_shown(self._analysis.collectives)),
            (KERNELS_TITLE, collectives_shown(self._analysis.collective_kernels)),
        )
        return [
            *(table_lines(title, rows, self._screen) for title, rows in tables if rows),
            *(self._table(title, rows) for title, rows in calls if rows),
        ]

    def _transitions(self) -> list[str]:
        rows = sorted(self._analysis.transitions, key=lambda row: -row.count)
        shown = [_transition(row, len(self._analysis.processes) > 1) for row in rows]
        return self._table("Transitions from one layer into another", shown) if rows else []

    def _tasks(self) -> list[str]:
        tasks = self._analysis.tasks.records()
        return self._table(TASKS_TITLE, tasks) if tasks else []

    def _samples(self) -> list[list[str]]:
        samples, tails = self._analysis.samples.records(), self._analysis.sample_tails.records()
        if not samples:
            return []
        has_tails = any(row.tail_s for row in self._analysis.sample_tails)
        return [self._table(SAMPLES_TITLE, samples), *([self._table(TAILS_TITLE, tails)] if has_tails else [])]

    def _devices(self) -> list[list[str]]:
        """Devices, what was launched on them, and hardware counters; nothing where there are none."""
        analysis = self._analysis
        found = []
        if analysis.gpu:
            found.append(table_lines("GPUs", gpus_shown(analysis), self._screen))
            operations = operations_on_gpus(analysis)
            found.append(self._table("GPU time by launching operation", operations))
        if analysis.device_shares:
            found.append(table_lines("Who had the GPU", shares_shown(analysis), self._screen))
        if switches := analysis.device_switches.records():
            found.append(self._table("How the GPU passed from one process to another", switches))
        if analysis.sync_points:
            found.append(self._table("Where the CPU waited for the GPU", sync_points_shown(analysis)))
        if analysis.launches:
            found.append(self._table("Whose launches the GPU waited for", launches_shown(analysis)))
        if analysis.device_idle:
            found.append(self._table("Why GPUs did nothing in the training loop", idle_shown(analysis)))
        if analysis.counters:
            counters = counters_shown(analysis.counters)
            found.append(self._table("Hardware counters by launching operation", counters))
        return found

    def _notes(self) -> list[str]:
        said = [*notes(self._analysis), *process_lines(self._analysis), *_facts(self._analysis)]
        return _listed("Notes", said, self._screen) if said else []

    def _table(self, title: str, rows: Sequence[Record]) -> list[str]:
        return table_lines(title, _without_trivial(rows), self._screen)


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
        *analysis.without_stacks,
    ]  # fmt: skip


def _most(title: str, rows: Sequence[Record], column: str, screen: Screen, is_whole: bool) -> list[str]:
    """Return a table, of a long one the rows with most of what is in a column."""
    shown, rest = (rows, "") if is_whole else most(rows, column)
    return [*table_lines(title, shown, screen), *([f"  {rest} with --all"] if rest else [])]


def _calls(rows: Sequence[Record], screen: Screen, is_whole: bool) -> list[str]:
    """Return the table of calls, of each trace those with most time first; none below 1 % unless `is_whole`."""
    named = [_call(row) for row in rows]
    traces = list(dict.fromkeys(row.get("trace") for row in named))
    named.sort(key=lambda row: (traces.index(row.get("trace")), -number(row["percent"])))
    shown = [row for row in named if is_whole or number(row["percent"]) >= 100 * LEAST_SHARE]
    title = "Calls by function"
    lines = table_lines(title, _without_trivial(shown), screen) if shown else [title]
    if (rest := len(named) - len(shown)) > 0:
        lines.append(f"  {rest:,}{' more' if shown else ''} below 1 %; --all shows them")
    return lines


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
