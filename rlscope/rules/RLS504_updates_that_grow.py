"""Let updates not grow: detach what is kept from one to the next.

**Why it is slow.** A hidden state or a loss that is kept with its graph makes the next `backward` go through all
updates before it. Each takes longer than the one before.

**Slow**

    output, state = network(batch, state)

**Faster**

    output, state = network(batch, state.detach())

**How it is found.** Updates take longer from one to the next, with an interval above zero. What they take more than
at first is an eighth of the training or more.

**When it is wrong.** Where batches or networks grow on purpose.

**Reported:** pytorch/pytorch #2769, TorchSim/torch-sim #564.
"""

from collections.abc import Iterator

from rlscope.analysis.account.causes import Cause
from rlscope.rules.evidence import Evidence, where
from rlscope.rules.finding import Found
from rlscope.rules.source import Line
from rlscope.text.numbers import duration

_CHANGE = "detach() what is kept from one to the next, so that none goes through those before it"
#: Updates whose graphs are let go now and then take so many times as long just before that.
_RISES = 2


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for updates of which each takes longer."""
    place = evidence.at(Cause.UPDATE)
    for row in evidence.tables.durations:
        if row.grows and (row.process, row.operation) == (evidence.process, Cause.UPDATE.value):
            change = (
                f"let updates not grow, from {duration(row.first_s)} to {duration(row.last_s)}: {_CHANGE}, or keep the "
                f"sizes of batches{where(place)}"
            )
            more_s = row.count * (row.mean_s - row.first_s)
            yield Found(change, "durations: operation=backpropagation", more_s, place)
        elif row.operation == Cause.UPDATE.value and row.longest_s > _RISES * row.shortest_s:
            line = evidence.line_at(place)
            if line is not None and _keeps_graph(line) and row.process == evidence.process:
                change = (
                    f"let updates not grow, now and then from {duration(row.shortest_s)} to {duration(row.longest_s)}: "
                    f"{_CHANGE}; then retain_graph=True is not needed{where(place)}"
                )
                more_s = row.count * (row.mean_s - row.shortest_s)
                yield Found(change, "durations: operation=backpropagation", more_s, place)


def _keeps_graph(line: Line) -> bool:
    given = (each for call in line.calls if call.name.endswith(".backward") for each in call.node.keywords)
    return any(each.arg == "retain_graph" and getattr(each.value, "value", None) is True for each in given)
