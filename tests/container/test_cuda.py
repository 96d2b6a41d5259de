"""What the cuda flavour asks of the engine. No GPU is needed: a hook that does nothing stands for NVIDIA's runtime.

It is an executable nvidia-container-runtime-hook on the PATH that the engine was started with.
"""

import shutil
import subprocess
from pathlib import Path

import pytest
from container_runs import Checkout, base_and_wheels, copy_checkout

pytestmark = pytest.mark.skipif(
    shutil.which("nvidia-container-runtime-hook") is None, reason="needs a stub of nvidia-container-runtime-hook"
)
VERSION = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (dvs-builder)\n"
LOOK = "id -u; echo $NVIDIA_VISIBLE_DEVICES; grep CapEff: /proc/self/status; touch output/written"
# Bits 1 and 21: CAP_DAC_OVERRIDE and CAP_SYS_ADMIN.
COUNTER_CAPABILITIES = f"{1 << 1 | 1 << 21:016x}"


@pytest.fixture
def small(small: Checkout) -> Checkout:
    """With a driver beside it, which lets only root read GPU counters."""
    copy_checkout(small.folder, "tests/container/programs")
    (small.folder / "driver").mkdir()
    (small.folder / "driver" / "version").write_text(VERSION)
    (small.folder / "driver" / "params").write_text("RmProfilingAdminOnly: 1\n")
    return small


def cuda(checkout: Checkout, *options: str) -> "subprocess.CompletedProcess[str]":
    program = str(Path("tests", "container", "programs", "with_driver.py"))
    arguments = (str(checkout.folder / "driver"), *base_and_wheels(), *options)
    return checkout.call(*arguments, script=program)


@pytest.mark.parametrize(("options", "seen"), [((), "all"), (("--gpus", "all"), "all"), (("--gpus", "0,1"), "0,1")])
def test_gpus_are_reserved(small: Checkout, options: tuple[str, ...], seen: str) -> None:
    finished = cuda(small, *options, "--run", "sh", "-c", "echo $NVIDIA_VISIBLE_DEVICES")
    assert (finished.returncode, finished.stdout) == (0, f"{seen}\n"), finished.stderr


def test_counters_start_as_root_where_the_driver_asks_for_it(small: Checkout) -> None:
    finished = cuda(small, "--counters", "--run", "sh", "-c", LOOK)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.split() == ["0", "all", "CapEff:", COUNTER_CAPABILITIES]
    assert "the container starts as root with SYS_ADMIN" in finished.stderr
    assert (small.output / "written").stat().st_uid == 0


def test_counters_need_no_root_where_every_user_may_read_them(small: Checkout) -> None:
    (small.folder / "driver" / "params").write_text("RmProfilingAdminOnly: 0\n")
    finished = cuda(small, "--counters", "--run", "sh", "-c", LOOK)
    assert finished.stdout.split()[0] != "0"
    assert "as root" not in finished.stderr


def test_without_the_driver_the_host_is_refused(small: Checkout) -> None:
    refused = small.call("--flavour", "cuda", *base_and_wheels(), "--run", "true")
    assert refused.returncode == 2
    assert "--flavour cpu" in refused.stderr.splitlines()[-1]
