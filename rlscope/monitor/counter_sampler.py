"""This file is the process that samples the GPUs' hardware counters beside a recorded command, until its input ends.

It says on standard output, a JSON object a line: first whether counting has begun, at the end what was counted.
"""

import json
import os
import select
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from rlscope import _native
from rlscope.analysis.counters.clock import MOST_DRIFT
from rlscope.errors import UsageError
from rlscope.monitor.counter_device import CounterDevice, CounterHost, Samples, explain
from rlscope.monitor.cuda_driver import NO_DEVICE, NO_USABLE_DEVICE, CudaError, Driver, no_library
from rlscope.monitor.cupti_profiler import Cupti, CuptiError
from rlscope.record.cupti import cupti_directories
from rlscope.text.numbers import duration
from rlscope.trace.counter_metrics import FRIENDLY, CounterMetric, parse_counters, sampled_metrics
from rlscope.trace.counters_file import CounterWriter
from rlscope.trace.reader import counters_path

#: Decoding a sample takes 50 to 100 us of a processor, so one of them keeps up with this much of one device.
INTERVAL_NS = 200_000
DRAIN_S = 0.1
#: How often what waits at the end is decoded: the buffer of a device holds eight images.
ENDING_TAKES = 10
#: What may seem to be missing at the end though nothing is: what a device has not handed over yet in the time between
#: two drainings, and what clocks drift apart.
TOLERATED_NS = 2 * DRAIN_S * 1e9
NEEDED = "counters need an NVIDIA GPU and its driver"


class CountersError(Exception):
    """Counters cannot be read; the message says why, and the way out."""


class DeviceSampler:
    """A device with the file that its samples go to.

    Attributes:
        uuid: of the device, as nvidia-smi writes it.
        samples: that are in the file.
        lost_samples: that the device took and nobody read.
        error: why there is no sample though there should be; None otherwise.
    """

    def __init__(
        self, cupti: Cupti, driver: Driver, index: int, metrics: tuple[CounterMetric, ...], interval_ns: int
    ) -> None:
        """Begin to sample.

        Raises:
            CountersError: it cannot be sampled.
        """
        handle = driver.devices()[index]
        self.uuid = driver.uuid(handle)
        self.samples = 0
        self.lost_samples = 0
        self.error: str | None = None
        self._name = driver.name(handle)
        self._metrics = metrics
        self._interval_ns = interval_ns
        self._columns = sampled_metrics(metrics)
        self._writer: CounterWriter | None = None
        self._end_ns: int | None = None
        self._sampled_ns = 0  # from the first sample to the last
        self._length_ns = float(interval_ns)  # of an interval; in clocks nobody else knows it before the first
        self._host = host_of(cupti, index, handle)
        try:
            check_passes(self._host, metrics)
            self._device = CounterDevice(self._host, index, self._columns, interval_ns)
            self._began_ns = self._device.start()
        except CuptiError as error:
            raise CountersError(explain(error, cupti.support(handle))) from error

    def drain(self, directory: Path) -> None:
        """Write what was counted since the last time."""
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
        """End counting, and complete the file."""
        stopped_ns = self._device.stop()
        for _ in range(ENDING_TAKES):
            self.drain(directory)
            if not self._device.has_more:
                break
        self._count_unread(stopped_ns)
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
        self._length_ns = float(np.median(samples.end_ns - samples.start_ns))
        self.lost_samples += int(np.rint(gaps_ns / self._length_ns).sum())
        self._end_ns = int(samples.end_ns[-1])
        self._sampled_ns += self._end_ns - int(before_ns)

    def _count_unread(self, stopped_ns: int) -> None:
        """Count what the device took after the last sample that was read."""
        _, began_ns = self._began_ns
        counted_ns = stopped_ns - began_ns
        unread_ns = counted_ns - self._sampled_ns
        if unread_ns <= TOLERATED_NS + MOST_DRIFT * counted_ns:
            return
        self.lost_samples += round(unread_ns / self._length_ns)
        if self.samples == 0:
            self.error = f"no sample of {duration(counted_ns / 1e9)} could be read; leave a processor free for that"


def host_of(cupti: Cupti, index: int, handle: int) -> CounterHost:
    """Return what CUPTI knows of a device's counters.

    Raises:
        CountersError: it has none for us.
    """
    try:
        return CounterHost(cupti, index)
    except CuptiError as error:
        raise CountersError(explain(error, cupti.support(handle))) from error


def check_passes(host: CounterHost, metrics: tuple[CounterMetric, ...]) -> None:
    """Refuse counters that do not fit into one pass.

    Raises:
        CountersError: they do not, or the device has no such counter.
        CuptiError: CUPTI cannot say.
    """
    for metric in metrics:
        passes = _passes(host, metric.metric)
        if metric.weight is not None:
            passes = max(passes, _passes(host, metric.weight, f", by which {metric.name} is weighted"))
        if passes > 1:
            raise CountersError(f"{metric.name} takes {passes} runs of a program, and sampling has one; leave it out")
    passes = host.passes(host.configuration(sampled_metrics(metrics)))
    if passes > 1:
        raise CountersError(f"these counters together take {passes} runs of a program; ask for fewer at once")


def _passes(host: CounterHost, name: str, purpose: str = "") -> int:
    try:
        return host.passes(host.configuration([name]))
    except CuptiError as error:
        raise CountersError(
            f"this device ({host.chip}) has no {name}{purpose}; see rlscope record --counters list"
        ) from error


def open_cupti() -> tuple[Driver, Cupti]:
    """Return the driver and the libcupti that fits it.

    Raises:
        CountersError: there is none, or no device.
        CudaError: the driver cannot be used.
        CuptiError: libcupti cannot be.
    """
    driver = open_driver()
    try:
        return driver, Cupti(_native.find_cupti(cupti_directories(), driver.version()))
    except OSError as error:
        raise CountersError(str(error)) from error


def open_driver() -> Driver:
    """Return a driver with at least one device.

    Raises:
        CountersError: there is none.
        CudaError: the driver cannot be used.
    """
    try:
        driver = Driver()
    except OSError as error:
        found, fix = no_library()
        raise CountersError(f"{found}; {fix or NEEDED}") from error
    except CudaError as error:
        if error.status != NO_DEVICE:
            raise
        raise CountersError("; ".join(NO_USABLE_DEVICE)) from error
    if not driver.devices():
        raise CountersError("; ".join(NO_USABLE_DEVICE))
    return driver


def print_counters() -> None:
    """Print what the first device offers.

    Raises:
        CountersError: there is none.
    """
    driver, cupti = open_cupti()
    handle = driver.devices()[0]
    host = host_of(cupti, 0, handle)
    lines = [
        f"{driver.name(handle)} ({host.chip}) counts, by these names:",
        *(f"  {name:<20} {metric}: {_description(host, metric)}" for name, metric in FRIENDLY.items()),
        "and by NVIDIA's, each with an ending such as .sum, .avg.pct_of_peak_sustained_elapsed or .sum.per_second:",
        *(f"  {metric:<60} {_description(host, metric)}" for metric in host.base_metrics()),
    ]
    print("\n".join(lines))


def _description(host: CounterHost, metric: str) -> str:
    try:
        return host.description(metric)
    except CuptiError:
        return "not counted by this device"


def begin(cupti: Cupti, driver: Driver, metrics: tuple[CounterMetric, ...]) -> tuple[list[DeviceSampler], list[str]]:
    """Begin to sample all devices that can be.

    Returns:
        Those, and which cannot be and why.

    Raises:
        CountersError: none can be.
    """
    handles = driver.devices()
    devices: list[DeviceSampler] = []
    refused: dict[str, list[str]] = {}  # by the reason, which is often one for all
    for index, handle in enumerate(handles):
        try:
            # As if all could be: the first is told its interval before the last is tried.
            devices.append(DeviceSampler(cupti, driver, index, metrics, INTERVAL_NS * len(handles)))
        except CountersError as error:
            refused.setdefault(str(error), []).append(driver.uuid(handle))
    errors = [f"{', '.join(uuids)}: {reason}" for reason, uuids in refused.items()]
    if not devices:
        raise CountersError("; ".join(errors))
    return devices, errors


def sample(directory: Path, metrics: tuple[CounterMetric, ...]) -> None:
    """Sample until standard input ends, and say what was sampled.

    Raises:
        CountersError: nothing can be sampled.
    """
    driver, cupti = open_cupti()
    devices, errors = begin(cupti, driver, metrics)
    say({"error": None})
    try:
        while not select.select([sys.stdin], [], [], DRAIN_S)[0]:
            for device in devices:
                device.drain(directory)
        for device in devices:
            device.end(directory)
    except (OSError, CuptiError) as failure:
        errors.append(f"sampling ended early: {failure}")
    errors += [f"{device.uuid}: {device.error}" for device in devices if device.error is not None]
    found = [{"uuid": each.uuid, "samples": each.samples, "lost_samples": each.lost_samples} for each in devices]
    say({"devices": found, "error": "; ".join(errors) or None})


def say(facts: dict[str, Any]) -> None:
    """Say something to the process that started this one, unless that was killed."""
    with suppress(BrokenPipeError):
        os.write(sys.stdout.fileno(), f"{json.dumps(facts)}\n".encode())


def main() -> None:
    """Run `counter_sampler DIRECTORY COUNTERS`, or `counter_sampler list`."""
    try:
        if sys.argv[1] == "list":
            print_counters()
        else:
            sample(Path(sys.argv[1]), parse_counters(sys.argv[2]))
    except (CountersError, UsageError, CudaError) as error:
        say({"error": str(error)})
    except CuptiError as error:
        say({"error": explain(error)})


if __name__ == "__main__":
    main()
