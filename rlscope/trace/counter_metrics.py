"""This file lists the hardware counters that can be recorded, and how samples combine. Standard library only."""

from dataclasses import dataclass
from enum import Enum

from rlscope.errors import UsageError

#: Of every device in every sample: whether it did anything at all.
ACTIVE_CYCLES = "sm__cycles_active.sum"
#: Names that say what is meant, for the metrics most asked for.
FRIENDLY = {
    "sm_efficiency": "smsp__cycles_active.avg.pct_of_peak_sustained_elapsed",
    "achieved_occupancy": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "dram_throughput": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "tensor_active": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "dram_bytes": "dram__bytes.sum",
    "instructions": "sm__inst_executed.sum",
}


class Combination(Enum):
    """This says what the value of a metric in a sample is, and so how samples combine."""

    AMOUNT = "amount"  # amounts add up
    RATE = "rate"  # of the sample's time
    RATIO = "ratio"  # of the cycles in which the unit was active, which are the sample's weight


_AMOUNT = "sum"
#: What may follow `.sum` or `.avg`. An average over units is one over time as well; a least or a most is none.
_OF_TIME = ("pct_of_peak_sustained_elapsed", "per_second", "per_cycle_elapsed")
_OF_ACTIVE_CYCLES = ("pct_of_peak_sustained_active", "per_cycle_active")
_ROLLUPS = ("sum", "avg")
#: What a metric counts, by a part of its name.
_COUNTED = {"bytes": "bytes", "__inst_": "instructions", "cycles": "cycles"}


@dataclass(frozen=True)
class CounterMetric:
    """A metric of a device.

    Attributes:
        name: as it was asked for: one of `FRIENDLY`, or NVIDIA's.
        metric: NVIDIA's name, `UNIT__NAME.ROLLUP` or `UNIT__NAME.ROLLUP.SUBMETRIC`.
        weight: the metric by which values combine; None where they do by time, or add up.
    """

    name: str
    metric: str
    weight: str | None

    @property
    def combination(self) -> Combination:
        """Return how its values combine."""
        if self.weight is not None:
            return Combination.RATIO
        return Combination.AMOUNT if self.metric.endswith(f".{_AMOUNT}") else Combination.RATE

    @property
    def unit(self) -> str:
        """Return what its values are in: `%`, `bytes`, `instructions`, `cycles`, these per second or cycle, or
        unknown.
        """
        counter, *_, ending = self.metric.split(".")
        if ending.startswith("pct_"):
            return "%"
        counted = next((unit for part, unit in _COUNTED.items() if part in counter), "")
        if ending == _AMOUNT:
            return counted
        return f"{counted or '1'}/{'s' if ending == 'per_second' else 'cycle'}"


def counter_metric(name: str) -> CounterMetric:
    """Return the metric that somebody means by `name`.

    Raises:
        UsageError: it is none whose values from several samples combine.
    """
    metric = FRIENDLY.get(name, name)
    counter, *endings = metric.split(".")
    unit, _, rest = counter.partition("__")
    match endings:
        case ["sum"] if unit and rest:
            return CounterMetric(name, metric, None)
        case [rollup, ending] if unit and rest and rollup in _ROLLUPS and ending in _OF_TIME:
            return CounterMetric(name, metric, None)
        case [rollup, ending] if unit and rest and rollup in _ROLLUPS and ending in _OF_ACTIVE_CYCLES:
            return CounterMetric(name, metric, f"{unit}__cycles_active.sum")
    raise UsageError(
        f"a counter was expected, one of {', '.join(FRIENDLY)} or an NVIDIA metric UNIT__NAME.sum or "
        f"UNIT__NAME.avg.ENDING with an ending out of {', '.join((*_OF_TIME, *_OF_ACTIVE_CYCLES))}, but {name!r} was "
        "given; values of others cannot be combined from samples"
    )


def parse_counters(text: str) -> tuple[CounterMetric, ...]:
    """Return the metrics of a list such as `sm_efficiency,dram__bytes.sum`.

    Raises:
        UsageError: it is empty, names a metric twice, or one whose values do not combine.
    """
    metrics: dict[str, CounterMetric] = {}
    for name in (part.strip() for part in text.split(",")):
        if not name:
            raise UsageError(
                f"counters separated by commas were expected, but {text!r} leaves a name out; give for instance "
                "sm_efficiency,achieved_occupancy"
            )
        metric = counter_metric(name)
        if metric.metric in metrics:
            raise UsageError(
                f"every counter was expected once, but {text!r} asks for {metric.metric} twice; leave {name!r} out"
            )
        metrics[metric.metric] = metric
    return tuple(metrics.values())


def sampled_metrics(metrics: tuple[CounterMetric, ...]) -> tuple[str, ...]:
    """Return NVIDIA's names of all that is to be sampled: the metrics, their weights, and the device's active
    cycles.
    """
    weights = (metric.weight for metric in metrics if metric.weight is not None)
    return tuple(dict.fromkeys([*(metric.metric for metric in metrics), *weights, ACTIVE_CYCLES]))
