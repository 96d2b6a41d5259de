"""Random processes: threads, device work and costs, for tests that hold the sweep against a twin."""

from hypothesis import strategies as st
from trace_builder import (
    Absent,
    Begin,
    Collective,
    CpuTime,
    End,
    Memory,
    NewChunk,
    ProcessScript,
    Progress,
    QueueScript,
    Sample,
    Seen,
    StacksScript,
    Tagged,
    Task,
    ThreadScript,
    Work,
    boundary,
    operation,
    phase,
)

from rlscope.analysis.correction.costs import Bounds, Cost
from rlscope.model import CALLBACK, STAGES, Category, DeviceWork
from rlscope.trace import format as fmt

OPERATIONS = (
    "training_loop",
    *STAGES,
    "step",
    "reset",
    "(none)",
    CALLBACK,
    "log",
    "compile",
    "import",
    "garbage_collection",
)
CHOICES = (
    *("boundary",) * 3, *("end",) * 3, "operation", "phase", "chunk", "progress", "absent", "task", "sample",
    "collective", "memory", "ran", "ran", "message",
)  # fmt: skip
PHASES = ("collect", "evaluation")
#: A thread without a core is in none.
CALLS = {category: [f + category.label for f in "fg"] for category in Category if category is not Category.NO_CORE}
CALLS[Category.WAIT] = ["fwait", "gwait pipe:[1]", "gwait pipe:[2]", "_thread.lock.acquire"]
LAUNCHES = (
    ("(none)", "(none)"),
    ("inference", "inference"),
    ("inference", "step"),
    ("synchronisation", "step"),
    ("training_loop", CALLBACK),
)
ON_DEVICE = (DeviceWork.KERNEL, DeviceWork.COPY, DeviceWork.MEMSET)
COST_KEYS = ("operation", "operation/step", "boundary", "boundary/fbackend", "cuda", "cuda/fcuda")
ON_HOST = (DeviceWork.CUPTI_WORK, DeviceWork.GAP)


@st.composite
def threads(draw: st.DrawFn, stream: int, start: int) -> ThreadScript:
    thread = ThreadScript(stream, start + draw(st.integers(0, 30)))
    ticks, depth = thread.start, 0
    for _ in range(draw(st.integers(0, 25))):
        before = ticks
        ticks += draw(st.sampled_from((0, 1, 2, 7, 40, 5000)))
        choice = draw(st.sampled_from(CHOICES))
        if choice == "boundary":
            category = draw(st.sampled_from([*CALLS]))
            thread.statements.append(boundary(ticks, category, draw(st.sampled_from(CALLS[category]))))
        elif choice == "operation":
            thread.statements.append(operation(ticks, draw(st.sampled_from(OPERATIONS))))
        elif choice == "phase":
            thread.statements.append(phase(ticks, draw(st.sampled_from(PHASES))))
        elif choice == "progress":
            thread.statements.append(
                Progress(ticks, draw(st.integers(0, 1 << 40)), draw(st.sampled_from((0, 99))), draw(st.booleans()))
            )
        elif choice == "absent":
            blocked = draw(st.integers(0, ticks - before))
            queued = draw(st.integers(0, ticks - before - blocked))
            thread.statements.append(Absent(ticks, blocked, queued, draw(st.integers(0, blocked + queued))))
        elif choice == "task":
            elapsed = draw(st.sampled_from((0, 1, 127, 255, 256, 257, 1 << 20)) | st.integers(0, 1 << 50))
            task = Task(ticks, draw(st.sampled_from(OPERATIONS)), elapsed, draw(st.integers(0, elapsed)))
            thread.statements.append(task)
        elif choice == "sample":
            elapsed = draw(st.integers(0, 300))
            times = draw(st.none() | st.just((elapsed, draw(st.integers(0, elapsed)))))
            name, numbers = draw(st.sampled_from(OPERATIONS)), (draw(st.integers(0, 5)), draw(st.integers(0, 1 << 40)))
            thread.statements.append(Sample(ticks, name, *numbers, times, draw(st.booleans())))
        elif choice == "collective":
            called, ticks = draw(st.integers(0, ticks)), max(ticks, 1)
            waited = draw(st.none() | st.integers(called, ticks))
            name, numbers = draw(st.sampled_from(CALLS[Category.WAIT])), (draw(st.integers(0, 1 << 40)), called)
            thread.statements.append(Collective(ticks, name, *numbers, waited, draw(st.integers(0, 1 << 40))))
        elif choice == "memory":
            owner, device = draw(st.sampled_from(fmt.MemoryOwner)), draw(st.integers(0, 1))
            used, peak = draw(st.integers(0, 1 << 40)), draw(st.integers(0, 1 << 40))
            thread.statements.append(Memory(ticks, owner, device, used, peak))
        elif choice == "ran":
            thread.statements.append(CpuTime(ticks, draw(st.integers(0, 20_000) | st.just(1 << 50))))
        elif choice == "message":
            values = draw(st.sampled_from(CALLS[Category.WAIT])), draw(st.integers(0, 1 << 40))
            thread.statements.append(Tagged(ticks, fmt.OtherTag.MESSAGE, values))
        elif choice == "chunk":
            thread.statements.append(NewChunk())
        elif depth > 0:
            thread.statements.append(End(ticks))
        depth = sum(isinstance(s, Begin) for s in thread.statements) - sum(
            isinstance(s, End) for s in thread.statements
        )
    return thread


@st.composite
def queues(draw: st.DrawFn, stream: int, start: int) -> QueueScript:
    """Device work that may start before the work before it, last long, and lie outside the process's life."""
    queue = QueueScript(stream, draw(st.sampled_from((0, 0, 1, 7, fmt.HOST))))
    for _ in range(draw(st.integers(0, 12))):
        if draw(st.integers(0, 5)) == 0:
            queue.statements.append(NewChunk())
        start = max(0, start + draw(st.sampled_from((-30, -1, 0, 1, 5, 40))))
        end = start + draw(st.sampled_from((0, 1, 2, 9, 60, 900)))
        kind = draw(st.sampled_from(ON_HOST if queue.device == fmt.HOST else ON_DEVICE))
        moved = 0 if kind in (DeviceWork.KERNEL, *ON_HOST) else draw(st.integers(0, 1 << 40))
        name = draw(st.sampled_from(("gemm", "add", "ncclDevKernel_Generic", "memcpy PtoP")))
        queue.statements.append(Work(start, end, kind, name, *draw(st.sampled_from(LAUNCHES)), moved))
    return queue


@st.composite
def costs(draw: st.DrawFn) -> dict[str, Cost]:
    """Costs of some kinds of events, from none to more than the gaps between events."""
    values = st.sampled_from((0.0, 0.25, 1.0, 3.5, 30.0, 700.0))
    bounds = st.tuples(values, values, values).map(lambda found: Bounds(*sorted(found)))
    return draw(st.dictionaries(st.sampled_from(COST_KEYS), st.builds(Cost, bounds, bounds, bounds, st.just(1))))


@st.composite
def stacks(draw: st.DrawFn, start: int) -> StacksScript:
    """Stacks of threads that there are, and of some that there are not."""
    times = sorted(draw(st.lists(st.integers(start, start + 300), min_size=1, max_size=12)))
    frames = (
        ("main", "a.py", 3),
        ("f", "b.py", 7),
        ("g", "/x/site-packages/fbackend/c.py", 9),
        ("load", "<frozen importlib._bootstrap>", 1),
        ("hook", "/x/rlscope/record/hooks.py", 2),
    )
    drawn = st.lists(st.sampled_from(frames), max_size=3)
    return StacksScript(20, [Seen(ticks, draw(st.sampled_from((0, 1, 2, 11))), tuple(draw(drawn))) for ticks in times])


@st.composite
def scripts(draw: st.DrawFn) -> ProcessScript:
    start = draw(st.sampled_from((0, 20, 10**12)))
    streams = draw(st.lists(st.sampled_from((0, 1, 2, 3, 11)), unique=True, max_size=5))
    script = ProcessScript(start=start, threads=[draw(threads(stream, max(start - 10, 0))) for stream in streams])
    streams = draw(st.lists(st.sampled_from((4, 5, 6, 12)), unique=True))
    script.queues = [draw(queues(stream, max(start - 10, 0))) for stream in streams]
    script.stacks = draw(st.none() | stacks(max(start - 10, 0)))
    script.coincident = draw(st.booleans())
    script.costs = draw(st.none() | costs())
    script.amplification = draw(st.sampled_from((1, 1, 3)))
    if draw(st.booleans()):
        script.stop = start + draw(st.integers(1, 300))
    elif draw(st.booleans()):
        script.limit = start + draw(st.integers(1, 300))
    return script
