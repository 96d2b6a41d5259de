"""Rules about a GPU: training that is slow for a known reason is found, and the same without it is not."""

import sys
from pathlib import Path

import pytest
from recording import record

#: A training whose updates do WORK; a second of it is enough.
TRAINING = """
import time
import torch

network = torch.nn.Sequential(*(torch.nn.Linear({width}, {width}) for _ in range({layers}))).cuda()
optimizer = torch.optim.Adam(network.parameters(), fused=True)
batch = torch.randn({batch}, {width}, device="cuda")
host = torch.randn({batch}, {width}, dtype=torch.float64)
seen = []
end = time.monotonic() + 5
while time.monotonic() < end:
    {before}
    loss = network(batch).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {after}
torch.cuda.synchronize()
"""
SMALL = {"width": 32, "layers": 8, "batch": 32, "before": "pass", "after": "pass"}
LARGE = {"width": 4096, "layers": 4, "batch": 4096, "before": "pass", "after": "pass"}
COPY = "batch = host.cuda().float()"
#: What the CPU does beside the GPU, unless it has waited for that before.
NUMBERS = "seen.append(loss.item()), sum(range(600_000))"
FAULTS = {
    "launches": (SMALL, {"RLS601": None}),
    "copies": (LARGE | {"before": COPY}, {"RLS602": COPY}),
    "numbers": (LARGE | {"after": NUMBERS}, {"RLS603": NUMBERS}),
    "none": (LARGE, {}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_makes_a_gpu_wait_is_found(fault: str, tmp_path: Path) -> None:
    filled, wanted = FAULTS[fault]
    (script := tmp_path / "train.py").write_text(TRAINING.format(**filled))
    recording = record(tmp_path / "trace", sys.executable, str(script))
    assert recording.returncode == 0, recording.stderr
    found = {row["code"]: row for row in recording.analysis["findings"] if row["code"].startswith("RLS6")}
    print({code: (row["share"], row["line"], row["change"]) for code, row in found.items()})
    assert wanted.keys() <= found.keys() if wanted else not found
    lines = [line.strip() for line in script.read_text().splitlines()]
    places = {code: lines.index(text) + 1 for code, text in wanted.items() if text is not None}
    assert {code: found[code]["line"] for code in places} == places
