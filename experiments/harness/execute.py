"""This file executes one run: a recorded subprocess with stated variables, a log and a manifest."""

import dataclasses
import errno
import json
import os
import platform
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from typing import Any

from experiments.harness.interpreters import built_from_of, version_of
from experiments.harness.machine import machine_and_gpus
from experiments.harness.sources import hash_of_sources
from rlscope.errors import RLScopeError, UsageError
from rlscope.text.numbers import duration, size

# Nothing else is taken over from the caller's variables: a run is the same in every shell.
INHERITED = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH")
PACKAGES = (
    "rlscope", "numpy", "gymnasium", "mujoco", "mujoco-core", "pybullet", "pybullet-envs-gymnasium", "ale-py", "pyflyt",
    "opencv-python-headless", "torch", "stable-baselines3", "sb3-contrib", "ray", "jax", "jaxlib", "flax", "optax",
    "sbx-rl", "gymnax", "brax", "mujoco-mjx", "playground", "rsl-rl-lib", "cupy-cuda12x", "cupy-cuda13x",
    "tensorflow-cpu", "tf-agents", "transformers", "trl",
)  # fmt: skip
#: What a workload prints of its iterations, the ones that were not recorded included.
ITERATIONS = "seconds of the iterations: "
MANIFEST, LOG = "manifest.json", "log.txt"
LOG_TAIL_LINES = 20
#: A run that fails by itself is tried so often; one that exceeds its time limit would take as long again.
ATTEMPTS = 2
#: With less, a recorder may find no room for its next chunk, which costs the rest of the trace.
BYTES_NEEDED = 32 << 20
SUPERVISOR = Path(__file__).with_name("supervisor.py")


class RunFailedError(RLScopeError):
    """A run did not end as it should; the message holds the end of its log."""


class RunTooSlowError(RunFailedError):
    """A run exceeded its time limit."""


class DamagedManifestError(RLScopeError):
    """This error says that it is not known whether a run is complete."""


@dataclass(frozen=True)
class Run:
    """One execution of a workload.

    Attributes:
        name: for people, and the run's place below the study's output: "Walker2d-v5/ppo/repetition_0".
        python: the Python that runs and records it.
        script: the training script.
        arguments: its arguments.
        delay_iterations: iterations of the training loop before recording starts.
        max_iterations: iterations to record; None for all of the run, from its start to its end; 0 where the script
            records itself, into the directory `trace`.
        threads: threads that each numerical library may use.
        device: where the program computes: cpu or cuda.
        time_limit_s: the run has failed if it takes longer.
        counters: of the device, to be sampled beside it, as `rlscope record --counters` names them.
    """

    name: str
    python: Path
    script: Path
    arguments: tuple[str, ...]
    delay_iterations: int
    max_iterations: int | None
    threads: int
    device: str
    time_limit_s: float
    counters: tuple[str, ...] = ()


@dataclass(frozen=True)
class Execution:
    """This is what `execute` leaves behind.

    Attributes:
        run: what was executed.
        trace: directory of its trace, beside its log and its manifest.
        seconds: how long it took.
        was_complete: whether it was there already.
        attempts: how often it was tried.
    """

    run: Run
    trace: Path
    seconds: float
    was_complete: bool
    attempts: int = 1

    @property
    def unrecorded_iteration_s(self) -> float | None:
        """Mean seconds of the iterations after the recorded ones; None where there are none, or none are printed."""
        if self.run.max_iterations is None:
            return None
        lines = (self.trace.parent / LOG).read_text(errors="replace").splitlines()
        found = [line.removeprefix(ITERATIONS).split() for line in lines if line.startswith(ITERATIONS)]
        later = found[-1][self.run.delay_iterations + self.run.max_iterations :] if found else []
        return sum(float(word) for word in later) / len(later) if later else None


def completed(run: Run, directory: Path) -> Execution | None:
    """Return what an earlier `execute` has left in `directory`, if it was of this very run and ended well.

    Raises:
        DamagedManifestError: There is a manifest that cannot be read.
    """
    try:
        earlier = read_manifest(directory)
        if earlier["complete"] and earlier["description"] == describe(run):
            return Execution(run, directory / "trace", earlier["seconds"], was_complete=True)
    except FileNotFoundError:
        pass
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedManifestError(
            f"{directory / MANIFEST}: expected the manifest of a run, found something else "
            f"({type(error).__name__}: {error}). The run counts as not complete"
        ) from error
    return None


def read_manifest(directory: Path) -> dict[str, Any]:
    """Return what a run has left about itself."""
    manifest: dict[str, Any] = json.loads((directory / MANIFEST).read_text())
    return manifest


def execute(run: Run, directory: Path, cores: Sequence[int] = (), node: str = "") -> Execution:
    """Record the run into `directory`, in the place of what is there.

    Args:
        run: what to record.
        directory: where its trace, log and manifest are to be.
        cores: those that it may use; all if none is named.
        node: the name of this machine, where it has another one than that of the system.

    Raises:
        RunFailedError: The run ended with an error, again when it was repeated, or exceeded its time limit.
        UsageError: The disk is full.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            seconds = record_once(run, directory, cores, node or platform.node(), attempt)
            return Execution(run, directory / "trace", seconds, was_complete=False, attempts=attempt)
        except RunTooSlowError:
            raise
        except RunFailedError:
            if attempt == ATTEMPTS:
                raise
    raise AssertionError("the last attempt returns or raises")


def record_once(run: Run, directory: Path, cores: Sequence[int], node: str, attempt: int) -> float:
    """Record the run once, beside `directory`, and put what came out in its place. Returns the seconds that it took.

    What ends in the middle, on this machine or on one that is no longer heard of, disturbs no other attempt, and what
    is in `directory` is whole.
    """
    unfinished = directory.with_name(f".{directory.name}.{secrets.token_hex(4)}")
    try:
        for abandoned in directory.parent.glob(f".{directory.name}.*"):
            shutil.rmtree(abandoned, ignore_errors=True)
        unfinished.mkdir(parents=True)
        check_space(unfinished)
        description, command, variables = describe(run), command_of(run), variables_of(run)
        started, start = datetime.now(timezone.utc), time.monotonic()
        with (unfinished / LOG).open("w") as log:
            status = run_limited(command, variables, unfinished, log.fileno(), run.time_limit_s, cores)
        seconds = round(time.monotonic() - start, 3)
        check_space(unfinished)
        manifest = {
            "complete": status == 0,
            "description": description,
            "command": command,
            "environment": variables,
            "exit_status": status,
            "attempt": attempt,
            "started": started.isoformat(timespec="seconds"),
            "seconds": seconds,
            "node": node,
            "cores": list(cores),
            "machine": machine_and_gpus(),
            "built_from": built_from_of(run.python),
        }
        (unfinished / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")
        if directory.exists():
            shutil.rmtree(directory)
        unfinished.rename(directory)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise no_space(directory, error.strerror or "no space") from error
        raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    if status != 0:
        error_type = RunTooSlowError if seconds >= run.time_limit_s else RunFailedError
        raise error_type(failure(run, status, directory / LOG, attempt))
    return seconds


def check_space(directory: Path) -> None:
    """Refuse to record onto a full disk: the program would go on, and its trace would lack what found no room.

    Raises:
        UsageError: There is not enough.
    """
    free = shutil.disk_usage(directory).free
    if free < BYTES_NEEDED:
        raise no_space(directory.parent, size(free))


def no_space(directory: Path, found: str) -> UsageError:
    """Return what to tell the user about a full disk."""
    return UsageError(
        f"expected {size(BYTES_NEEDED)} of free disk below {directory}, found: {found}. Free some, then give "
        "the same command again: runs that are complete are kept"
    )


def describe(run: Run) -> dict[str, object]:
    """Return everything that decides what the run does; a run is repeated when any of it changes."""
    fields = dataclasses.asdict(run)
    return fields | {
        "python": str(run.python),
        "script": run.script.name,
        "sources_sha256": hash_of_sources(run.script, run.arguments),
        "arguments": list(run.arguments),
        "counters": list(run.counters),
        "versions": versions(run.python),
        "recorder_sha256": built_from_of(run.python).get("recorder_sha256"),
    }


@cache
def versions(python: Path) -> dict[str, str]:
    """Return the versions of this Python and of the packages there that matter to a measurement."""
    return {"python": platform.python_version()} | {package: version_of(python, package) for package in PACKAGES}


def command_of(run: Run) -> list[str]:
    """Return the command line of the run, to be given in its directory."""
    training = [str(run.python), str(run.script), *run.arguments]
    if run.max_iterations == 0:
        return training
    window = ["--delay-iterations", str(run.delay_iterations), "--max-iterations", str(run.max_iterations)]
    return [
        *(str(run.python), "-m", "rlscope", "record", "--force", "-o", "trace"),
        *(window if run.max_iterations is not None else []),
        *(["--counters", ",".join(run.counters)] if run.counters else []),
        *("--", *training),
    ]


def variables_of(run: Run) -> dict[str, str]:
    """Return all environment variables of the run."""
    threads = str(run.threads)
    return {name: os.environ[name] for name in INHERITED if name in os.environ} | {
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
        "PYTHONHASHSEED": "0",
        "PYTHONUNBUFFERED": "1",
        # Else Stable-Baselines3 makes a folder in /tmp for each model.
        "SB3_LOGDIR": ".",
        # XLA takes its threads from the number of cores, whatever OMP_NUM_THREADS says.
        "XLA_FLAGS": f"--xla_cpu_multi_thread_eigen={int(run.threads > 1)} intra_op_parallelism_threads={threads}",
        # A run on the CPU must not find a device by itself.
        "CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES", "0") if run.device == "cuda" else "",
    }


def run_limited(
    command: list[str],
    variables: dict[str, str],
    directory: Path,
    output: int,
    time_limit_s: float,
    cores: Sequence[int],
) -> int:
    """Run the command and everything that it starts, for a limited time. Returns its exit status."""
    process = subprocess.Popen(
        [sys.executable, "-I", str(SUPERVISOR), ",".join(map(str, cores)), *command],
        env=variables,
        cwd=directory,
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        return process.wait(time_limit_s)
    except subprocess.TimeoutExpired:
        return release(process) or -signal.SIGTERM  # too slow is failed, whatever it says
    except BaseException:
        release(process)
        raise


def release(process: subprocess.Popen[bytes]) -> int:
    """Let the supervisor end the command and its children, and return its exit status."""
    assert process.stdin
    process.stdin.close()
    return process.wait()


def failure(run: Run, status: int, log: Path, attempt: int) -> str:
    """Return what to tell the user about a failed run."""
    tail = "\n".join(f"    {line}" for line in log.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:])
    ended = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"exited with status {status}"
    which = f"limit {duration(run.time_limit_s)}, attempt {attempt}"
    return f"run {run.name} {ended} ({which}). The end of its log, {log}:\n{tail}"
