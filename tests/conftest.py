"""Fixtures of all tests: no recording may leak from one test into the next, and nothing from the user into any."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from asked_for import leave_out_slow

import rlscope
from rlscope import _analysis, _native
from rlscope.record import recorder
from rlscope.record.config import RecordConfig

# Workloads of the case studies import each other as modules of one folder.
ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "experiments" / "workloads")]


def pytest_sessionstart(session: pytest.Session) -> None:
    """What is tested is the checkout: no other rlscope, and no modules compiled from what the sources were before."""
    if Path(rlscope.__file__).parent != ROOT / "rlscope":
        pytest.exit(f"expected rlscope of {ROOT}, found {rlscope.__file__}; run `make build`", returncode=2)
    compiled_s = max(Path(str(module.__file__)).stat().st_mtime for module in (_native, _analysis))
    sources = [path for path in (ROOT / "src").rglob("*") if path.is_file()]
    if newer := [path for path in sources if path.stat().st_mtime > compiled_s]:
        pytest.exit(f"{newer[0]} is newer than the compiled modules; run `make build`", returncode=2)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    leave_out_slow(config, items)


@pytest.fixture(autouse=True)
def nothing_records() -> Iterator[None]:
    assert not _native.is_recording()
    yield
    leaked = _native.is_recording() or recorder.active is not None
    recorder.deactivate()
    assert not leaked, "the test left a recording running"


@pytest.fixture(autouse=True, scope="session")
def no_calibration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What a test sees must not depend on whether somebody has calibrated this machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True, scope="session")
def interruptible() -> None:
    """A shell that starts tests in the background, or nohup, has them ignore these, and so would what they start."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


@pytest.fixture
def processors() -> Iterator[None]:
    """For tests that run twins here, which keep to one processor; the tests after these shall not."""
    own = os.sched_getaffinity(0)
    yield
    os.sched_setaffinity(0, own)


@pytest.fixture
def in_process(tmp_path: Path) -> Iterator[Callable[[], Path]]:
    """Records this process, without hooks, until called: then returns the finished process file."""
    directory = tmp_path / "in_process"
    directory.mkdir()
    RecordConfig().save(directory)
    _native.start(directory)
    path = Path(_native.trace_path())

    def finish() -> Path:
        _native.restore_all()
        _native.stop()
        return path

    yield finish
    finish()
