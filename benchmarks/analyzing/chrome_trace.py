"""This file writes the calls of the synthetic traces as torch.profiler's Chrome traces, for peers that read JSON."""

import json
from pathlib import Path

import numpy as np

from benchmarks.synthetic import CROSSINGS, DURATION_NS, EVENTS_PER_OPERATION, GAP_NS, QUANTILES


def write_chrome_trace(directory: Path, events: int, seed: int = 0) -> int:
    """Write about `events` events: operations as annotations; of each pair of calls one operator and one kernel.

    Kernels are needed because the peer's breakdown is of GPU time only.

    Returns:
        The number of events.
    """
    generator = np.random.default_rng(seed)
    operations = max(1, events // EVENTS_PER_OPERATION)
    gaps_us, durations_us = (
        np.exp(np.interp(generator.random((operations, CROSSINGS)), QUANTILES, np.log(quantiles))) / 1000
        for quantiles in (GAP_NS, DURATION_NS)
    )
    ends_us = np.cumsum(gaps_us + durations_us).reshape(operations, CROSSINGS)
    written = []
    for row in range(operations):
        start_us = float(ends_us[row, 0] - durations_us[row, 0])
        common = {"ph": "X", "pid": 1}
        name = ("simulation", "inference", "backpropagation")[row % 3]
        length_us = float(ends_us[row, -1]) - start_us
        written.append(common | {"cat": "user_annotation", "name": name, "tid": 1, "ts": start_us, "dur": length_us})
        for call in range(CROSSINGS):
            correlation = row * CROSSINGS + call // 2
            duration_us = float(durations_us[row, call])
            event = common | {"ts": float(ends_us[row, call]) - duration_us, "dur": duration_us}
            if call % 2 == 0:
                arguments = {"External id": correlation, "correlation": correlation}
                event |= {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "tid": 1, "args": arguments}
            else:
                arguments = {"External id": correlation, "correlation": correlation, "stream": 7, "device": 0}
                event |= {"cat": "kernel", "name": f"kernel_{call}", "pid": 0, "tid": 7, "args": arguments}
            written.append(event)
    document = {"schemaVersion": 1, "distributedInfo": {"rank": 0}, "traceEvents": written}
    directory.mkdir(parents=True)
    (directory / "rank_0.json").write_text(json.dumps(document))
    return len(written)
