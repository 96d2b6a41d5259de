"""The process beside a recorded command that samples the GPUs' hardware counters, until its standard input ends.

It says on standard output, a JSON object a line: first whether counting has begun, at the end what was counted.
"""

import json
import select
import sys
from pathlib import Path
from typing import Any

import numpy as np

from rlscope import _native
from rlscope.cli.counter_device import CounterDevice, CounterHost, Samples, explain
from rlscope.cli.cuda_driver import CudaError, Driver
from rlscope.cli.cupti_profiler import Cupti, CuptiError
from rlscope.errors import UsageError
from rlscope.record.cupti import cupti_directories
from rlscope.trace.counter_metrics import FRIENDLY, CounterMetric, parse_counters, sampled_metrics
from rlscope.trace.counters_file import CounterWriter, counters_path

#: Decoding a sample takes 50 to 100 us of a processor, so one of them keeps up with this much of one device.
INTERVAL_NS = 200_000
DRAIN_S = 0.1


class CountersError(Exception):
    """Counters cannot be read; the message says why, and the way out."""


class SampledDevice:
    """A device with the file that its samples go to."""

    def __init__(
        self, cupti: Cupti, driver: Driver, index: int, metrics: tuple[CounterMetric, ...], interval_ns: int
    ) -> None:
        handle = driver.devices()[index]
        self.uuid = driver.uuid(handle)
        self.samples = 0
        self.lost_samples = 0
        self._name = driver.name(handle)
        self._metrics = metrics
        self._interval_ns = interval_ns
        self._columns = sampled_metrics(metrics)
        self._writer: CounterWriter | None = None
        self._end_ns: int | None = None
        self._host = host_of(cupti, index, handle)
        check_passes(self._host, metrics)
        try:
            self._device = CounterDevice(self._host, index, self._columns, interval_ns)
            self._began_ns = self._device.start()
        except CuptiError as error:
            raise CountersError(explain(error)) from error

    def drain(self, directory: Path) -> None:
        """Writes what was counted since the last time."""
        samples, began_ns = self._device.take()
        if began_ns is not None and self._writer is None:
            self._writer = self._open(directory, began_ns)
        if self._writer is None or not len(samples.start_ns):
            return
        self._count_lost(samples)
        columns = dict(zip(self._columns, samples.values.T, strict=True))
        self._writer.append(samples.start_ns, samples.end_ns, columns)
        self.samples += len(samples.start_ns)

    def end(self, directory: Path) -> None:
        """Ends counting, and completes the file."""
        self._device.stop()
        self.drain(directory)
        self._device.close()
        if self._writer is not None:
            self._writer.close()

    def _open(self, directory: Path, began_ns: int) -> CounterWriter:
        # The device's first pulse came while it was told to start, or an interval later.
        before_ns, after_ns = self._began_ns
        return CounterWriter(
            counters_path(directory, self.uuid),
            uuid=self.uuid,
            name=self._name,
            chip=self._host.chip,
            interval_ns=self._interval_ns,
            metrics=self._metrics,
            offset_low_ns=began_ns - after_ns - 2 * self._interval_ns,
            offset_high_ns=began_ns - before_ns,
        )

    def _count_lost(self, samples: Samples) -> None:
        before_ns = samples.start_ns[0] if self._end_ns is None else self._end_ns
        gaps_ns = samples.start_ns - np.concatenate([[before_ns], samples.end_ns[:-1]])
        length_ns = np.median(samples.end_ns - samples.start_ns)  # of an interval in clocks nobody else knows
        self.lost_samples += int(np.rint(gaps_ns / length_ns).sum())
        self._end_ns = int(samples.end_ns[-1])


def host_of(cupti: Cupti, index: int, handle: int) -> CounterHost:
    """What CUPTI knows of a device's counters.

    Raises:
        CountersError: it has none for us.
    """
    try:
        return CounterHost(cupti, index)
    except CuptiError as error:
        raise CountersError(explain(error, cupti.support(handle))) from error


def check_passes(host: CounterHost, metrics: tuple[CounterMetric, ...]) -> None:
    """All must fit into one pass.

    Raises:
        CountersError: they do not, or the device has no such counter.
    """
    for metric in metrics:
        try:
            passes = host.passes(host.configuration([metric.metric]))
        except CuptiError as error:
            raise CountersError(
                f"this device ({host.chip}) has no {metric.metric}; see rlscope record --counters list"
            ) from error
        if passes > 1:
            raise CountersError(f"{metric.name} takes {passes} runs of a program, and sampling has one; leave it out")
    passes = host.passes(host.configuration(sampled_metrics(metrics)))
    if passes > 1:
        raise CountersError(f"these counters together take {passes} runs of a program; ask for fewer at once")


def open_cupti() -> tuple[Driver, Cupti]:
    """The driver and the libcupti that fits it.

    Raises:
        CountersError: there is none, or no device.
    """
    try:
        driver = Driver()
        if not driver.devices():
            raise CountersError("there is no device that may be used; see CUDA_VISIBLE_DEVICES")
        return driver, Cupti(_native.find_cupti(cupti_directories(), driver.version()))
    except (OSError, CudaError) as error:
        raise CountersError(str(error)) from error
    except CuptiError as error:
        raise CountersError(explain(error)) from error


def list_counters() -> None:
    """Prints what the first device offers.

    Raises:
        CountersError: there is none.
    """
    driver, cupti = open_cupti()
    host = host_of(cupti, 0, driver.devices()[0])
    print(f"{driver.name(driver.devices()[0])} ({host.chip}) counts, by these names:")
    for name, metric in FRIENDLY.items():
        print(f"  {name:<20} {metric}: {_description(host, metric)}")
    print("and by NVIDIA's, each with an ending such as .sum, .avg.pct_of_peak_sustained_elapsed or .sum.per_second:")
    for metric in host.base_metrics():
        print(f"  {metric:<60} {_description(host, metric)}")


def _description(host: CounterHost, metric: str) -> str:
    try:
        return host.description(metric)
    except CuptiError:
        return "not counted by this device"


def sample(directory: Path, metrics: tuple[CounterMetric, ...]) -> None:
    """Samples until standard input ends, and says what was sampled.

    Raises:
        CountersError: nothing can be sampled.
    """
    driver, cupti = open_cupti()
    count = len(driver.devices())
    devices = [SampledDevice(cupti, driver, index, metrics, INTERVAL_NS * count) for index in range(count)]
    say({"error": None})
    error = None
    try:
        while not select.select([sys.stdin], [], [], DRAIN_S)[0]:
            for device in devices:
                device.drain(directory)
        for device in devices:
            device.end(directory)
    except (OSError, CuptiError) as failure:
        error = f"sampling ended early: {failure}"
    found = [{"uuid": each.uuid, "samples": each.samples, "lost_samples": each.lost_samples} for each in devices]
    say({"devices": found, "error": error})


def say(facts: dict[str, Any]) -> None:
    """To who started this."""
    print(json.dumps(facts), flush=True)


def main() -> None:
    """`counter_sampler DIRECTORY COUNTERS`, or `counter_sampler list`."""
    try:
        if sys.argv[1] == "list":
            list_counters()
        else:
            sample(Path(sys.argv[1]), parse_counters(sys.argv[2]))
    except (CountersError, UsageError) as error:
        say({"error": str(error)})


if __name__ == "__main__":
    main()
