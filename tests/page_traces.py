"""Traces whose page is known beforehand, and the page of a trace."""

import random
from pathlib import Path

from trace_builder import (
    Begin,
    End,
    ProcessScript,
    Progress,
    QueueScript,
    ThreadScript,
    Work,
    boundary,
    operation,
    phase,
)

from rlscope.analysis.analysis import make_analysis
from rlscope.analysis.sweep import sweep_trace
from rlscope.model import STAGES, Category, DeviceWork
from rlscope.page.grid import bins_for
from rlscope.page.make_page import Run, make_page
from rlscope.report.remarks import warnings
from rlscope.trace.reader import open_trace

MS = 1_000_000
#: What every iteration does: stage, layer, function, milliseconds.
PARTS = (
    ("simulation", Category.SIMULATOR, "gymnasium.step", 20),
    ("inference", Category.BACKEND, "torch.linear", 10),
    ("backpropagation", Category.BACKEND, "torch.addmm", 30),
)
TIMESTEPS = 4  # of each iteration
PYTHON_MS = 2  # in each of these operations, before the call
#: How much longer a slow iteration is in each function.
SLOW_MS = {"torch.addmm": 41, "torch.linear": 2}


def training(iterations: int, slow: int | None = None, device: bool = False, start: int = 0) -> ProcessScript:
    """Iterations of 66 ms; the slow one has 43 ms more. A device works while that runs."""
    thread = ThreadScript(0, start)
    queue = QueueScript(9, 0)
    now = start
    thread.statements += [
        phase(now, "data_collection"),
        operation(now, "training_loop"),
        Progress(now, 0, 0, is_baseline=True),
    ]
    for number in range(iterations):
        for stage, category, function, milliseconds in PARTS:
            thread.statements.append(operation(now, stage))
            now += PYTHON_MS * MS
            begin, length = now, milliseconds + (SLOW_MS.get(function, 0) if number == slow else 0)
            thread.statements.append(boundary(now, category, function))
            now += length * MS
            thread.statements += [End(now), End(now)]
            if device and function == "torch.addmm":
                queue.statements.append(Work(begin, now, DeviceWork.KERNEL, "gemm", stage, stage))
        thread.statements.append(Progress(now, TIMESTEPS * (number + 1), 0))
    thread.statements += [End(now), End(now)]
    return ProcessScript(start, now + MS, threads=[thread], queues=[queue] if device else [])


def walk(seed: int, events: int, start: int, length: int) -> ProcessScript:
    """Begins and ends in random order at random times, of all stages and layers."""
    chosen = random.Random(seed)
    times = sorted(chosen.sample(range(start, start + length), events))
    thread = ThreadScript(0, start)
    open_events: list[Begin] = []
    for ticks in times:
        if open_events and (chosen.random() < 0.5 or len(open_events) > 4):
            open_events.pop()
            thread.statements.append(End(ticks))
            continue
        if chosen.random() < 0.4:
            begin = operation(ticks, chosen.choice((*STAGES, "step")))
        else:
            category = chosen.choice((Category.SIMULATOR, Category.BACKEND, Category.CUDA, Category.WAIT))
            begin = boundary(ticks, category, f"{category.label}.{chosen.choice('fg')}")
        open_events.append(begin)
        thread.statements.append(begin)
    thread.statements += [End(start + length)] * len(open_events)
    return ProcessScript(start, start + length, threads=[thread])


def run_of(trace: Path, focus_s: tuple[float, float] | None = None) -> Run:
    """What a page shows of a trace."""
    opened = open_trace(trace, recover=True)
    swept = sweep_trace(opened, recover=True, bins=bins_for(len(opened.processes)))
    analysis = make_analysis(swept, recover=True)
    return Run(trace.name, swept, analysis, warnings(trace.name, analysis), [], focus_s)


def page_of(trace: Path, focus_s: tuple[float, float] | None = None) -> str:
    """What `rlscope report -o page.html` writes."""
    return make_page([run_of(trace, focus_s)])


def workers(count: int) -> list[ProcessScript]:
    """Processes that start one after the other; each simulates for its whole life, but for one that infers."""
    scripts = []
    for number in range(count):
        thread = ThreadScript(0, number * MS)
        odd = number == count - 1
        stage, category = ("inference", Category.BACKEND) if odd else ("simulation", Category.SIMULATOR)
        thread.statements += [operation(number * MS, stage), boundary(number * MS, category, "work")]
        thread.statements += [End((count + 1) * MS), End((count + 1) * MS)]
        scripts.append(ProcessScript(number * MS, (count + 1) * MS, threads=[thread]))
    return scripts
