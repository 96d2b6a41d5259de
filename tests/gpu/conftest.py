"""Tests that need a GPU, PyTorch with CUDA and nvcc; scripts/gpu_suite.sh runs them. Elsewhere they are skipped."""

import shutil
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from recording import Recording, record

from rlscope.analysis.analysis import Analysis, analyze
from rlscope.trace.reader import open_trace

HERE = Path(__file__).parent


def _has_gpu() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not _has_gpu():
        for item in items:
            if HERE in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="needs a GPU: scripts/gpu_suite.sh"))


@pytest.fixture
def run_recorded(tmp_path: Path) -> Callable[..., tuple[Recording, Analysis]]:
    """Records a script, given as text, and analyzes its trace."""

    def run(script: str, *options: str, recover: bool = False) -> tuple[Recording, Analysis]:
        path = tmp_path / "script.py"
        path.write_text(textwrap.dedent(script))
        trace = tmp_path / "trace"
        if trace.exists():
            shutil.rmtree(trace)
        recording = record(trace, str(path), options=options)
        return recording, analyze(open_trace(trace), recover=recover)

    return run
