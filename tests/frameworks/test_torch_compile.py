"""torch.compile: compiling is an operation, generated kernels are crossings, and the program notices nothing."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from framework_runs import PROGRAMS, run_in
from recording import Recording

Record = Callable[..., Recording]


@pytest.fixture(scope="module")
def caches(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An empty cache of compiled code, so that the first run really compiles."""
    return {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path_factory.mktemp("inductor"))}


def test_known_times_counts_and_graphs(record_pytorch: Record, caches: dict[str, str]) -> None:
    recording = record_pytorch("compile_known.py", **caches)
    printed = recording.printed
    steps = printed["steps"]

    compiling = recording.seconds(operation="compile")
    assert 0.5 * printed["seconds"]["first"] < compiling
    assert recording.seconds(operation="training") < 0.2 * compiling

    # The kernel itself, the rest is Python that guards it and allocates its result.
    kernel = recording.layer_seconds("backend", operation="kernel")
    assert 0.9 * printed["seconds"]["kernel"] < kernel <= printed["seconds"]["kernel"]

    crossings = recording.main_sweep()["crossings"]
    kernels = {name: count for name, count in crossings.items() if name.startswith("inductor.cpp_fused")}
    assert len(kernels) >= 4  # forward, backward, and the heavy one
    assert all(count == 1 + steps for count in kernels.values()), kernels
    assert printed["graphs"] == 1

    plain = run_in("pytorch", PROGRAMS / "compile_known.py", **caches)
    assert plain.returncode == 0, plain.stderr
    unrecorded = json.loads(plain.stdout.splitlines()[-1])
    assert printed["losses"] == unrecorded["losses"]
    assert unrecorded["graphs"] == 1


def test_what_was_compiled_before_the_recording_is_found(tmp_path: Path, caches: dict[str, str]) -> None:
    finished = run_in("pytorch", PROGRAMS / "compile_then_record.py", tmp_path / "trace", **caches)
    assert finished.returncode == 0, finished.stderr
    crossings = Recording(tmp_path / "trace", 0, "", "").sweeps()[0]["crossings"]
    assert sum(count for name, count in crossings.items() if name.startswith("inductor.")) == 10, crossings
