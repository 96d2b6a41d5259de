"""The account of runs with GPUs: where CUDA calls and waits for a GPU are, and what keeps it from computing."""

from pathlib import Path

import pytest
from trace_builder import parse_script, write_scripts

from rlscope.analysis.account.observations import device_sentences
from rlscope.analysis.account.words import account_lines
from rlscope.analysis.analysis import Analysis, analyze
from rlscope.trace.reader import open_trace

STEPS = 120


def analyzed(directory: Path, calls: str, work: str, sees: str) -> Analysis:
    """A loop whose steps are alike, of 100 ns each, `calls` with ticks from 0 on, and `work` of the device."""

    def shifted(text: str, step: int) -> str:
        lines = []
        for line in text.strip().splitlines():
            ticks, _, rest = line.partition(" ")
            ends = "-".join(str(int(each) + 100 * step) for each in ticks.split("-"))
            lines.append(f"{ends} {rest}")
        return "\n".join(lines)

    parts = [f"process start=0 stop={100 * STEPS}", "thread 0", *(shifted(calls, step) for step in range(STEPS))]
    parts += ["queue 5 device=0", *(shifted(work, step) for step in range(STEPS))]
    parts += ["stacks 9", *(shifted(sees, step) for step in range(STEPS)), ""]
    return analyze(open_trace(write_scripts([parse_script("\n".join(parts))], directory)))


LAUNCHES = """
0 + backpropagation
2 + backend:torch.addmm
40 + cuda:cudaLaunchKernel
60 -
90 -
100 -
"""
SEEN = "50 sees 0 main:/me/a.py:7"


def test_the_line_of_cuda_calls_is_that_of_the_native_calls_that_make_them(tmp_path: Path) -> None:
    analysis = analyzed(tmp_path, LAUNCHES, "60-62 kernel gemm launch=backpropagation/backpropagation", SEEN)
    (row,) = [row for row in analysis.account if row.category == "cuda"]
    assert (row.line, row.called, row.line_share) == (7, "torch.addmm", 1)
    assert row.seconds * 1e9 == pytest.approx(20 * STEPS)
    (function,) = [row for row in analysis.functions if row.function == "main" and row.stage == "backpropagation"]
    assert function.stacks == STEPS
    assert function.seconds * 1e9 == pytest.approx(88 * STEPS)  # with CUDA's


def test_short_kernels_one_after_the_other_are_launched_too_slowly(tmp_path: Path) -> None:
    analysis = analyzed(tmp_path, LAUNCHES, "60-62 kernel gemm launch=backpropagation/backpropagation", SEEN)
    (change,) = [row.change for row in analysis.findings if row.code == "RLS601"]
    assert "in update" in change and f"{STEPS:,} kernels of 2 ns" in change
    (sentence,) = device_sentences(analysis)
    assert "works for 2 % of the loop" in sentence and "launch-bound" in sentence


def test_a_gpu_that_works_all_the_time_is_nothing_to_change(tmp_path: Path) -> None:
    wait = "63 + backend:torch.TensorBase.item\n64 + cuda_wait:cudaStreamSynchronize\n98 -\n98 -"
    calls = LAUNCHES.replace("90 -", f"62 -\n{wait}")
    analysis = analyzed(
        tmp_path, calls.replace("100 -", "99 -"), "0-98 kernel gemm launch=backpropagation/backpropagation",
        "50 sees 0 main:/me/a.py:7\n70 sees 0 main:/me/a.py:9",
    )  # fmt: skip
    assert not [row for row in analysis.findings if row.code.startswith("RLS6")]
    (sentence,) = device_sentences(analysis)
    assert "works for 98 % of the loop" in sentence
    (row,) = [row for row in analysis.account if row.cause == "gpu"]
    assert (row.line, row.called) == (9, "torch.TensorBase.item")


@pytest.mark.parametrize(("copied", "is_said"), [("20-90", True), ("20-25", False)])
def test_copies_for_which_the_process_waits_are_a_change(copied: str, is_said: bool, tmp_path: Path) -> None:
    calls = """
0 + inference
5 -
10 + backend:torch.TensorBase.to
20 + cuda:cudaMemcpyAsync
90 -
95 -
96 + backpropagation
99 -
"""
    analysis = analyzed(tmp_path, calls, f"{copied} copy HtoD bytes=1048576", SEEN)
    assert bool([row for row in analysis.findings if row.code == "RLS602"]) == is_said


def test_a_wait_in_a_native_function_is_called_as_people_write_it(tmp_path: Path) -> None:
    calls = "0 + inference\n5 + wait:torch._C._nn.conv2d\n95 -\n99 -"
    analysis = analyzed(tmp_path, calls, "1-2 kernel gemm launch=inference/inference", SEEN)
    assert "waiting in torch.conv2d" in [line.name for line in account_lines(analysis)]
