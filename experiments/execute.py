"""Execute one run: a recorded subprocess in a stated environment, with a log and a manifest."""

import dataclasses
import hashlib
import json
import os
import platform
import signal
import subprocess
import time
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import psutil

from experiments.environments import version_of
from rlscope.errors import RLScopeError

# Nothing else is taken over from the caller's environment: a run is the same in every shell.
INHERITED = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH")
PACKAGES = (
    "rlscope", "numpy", "gymnasium", "mujoco", "pybullet", "torch", "stable-baselines3", "sb3-contrib",
    "jax", "sbx-rl", "tensorflow-cpu", "tf-agents",
)  # fmt: skip
#: What a workload prints of its iterations, the ones that were not recorded included.
ITERATIONS = "seconds of the iterations: "
LOG_TAIL_LINES = 20
SECONDS_TO_END_IN = 10


class RunFailedError(RLScopeError):
    """A run did not end as it should; the message holds the end of its log."""


@dataclass(frozen=True)
class Run:
    """One execution of a workload.

    Attributes:
        name: for people, and the run's place below the study's output: "Walker2d-v5/ppo/repetition_0".
        python: the Python that runs and records it.
        script: the training script.
        arguments: its arguments.
        delay_iterations: iterations of the training loop before recording starts.
        max_iterations: iterations to record.
        threads: threads that each numerical library may use.
        device: where the program computes: cpu or cuda.
        time_limit_s: the run has failed if it takes longer.
    """

    name: str
    python: Path
    script: Path
    arguments: tuple[str, ...]
    delay_iterations: int
    max_iterations: int
    threads: int
    device: str
    time_limit_s: float


@dataclass(frozen=True)
class Execution:
    """What `execute` leaves behind: where the trace is, how long the run took, whether it was there already."""

    run: Run
    trace: Path
    seconds: float
    was_complete: bool

    @property
    def unrecorded_iteration_s(self) -> float | None:
        """Mean seconds of the iterations after the recorded ones; None where the workload prints none."""
        lines = (self.trace.parent / "log.txt").read_text(errors="replace").splitlines()
        found = [line.removeprefix(ITERATIONS).split() for line in lines if line.startswith(ITERATIONS)]
        later = found[-1][self.run.delay_iterations + self.run.max_iterations :] if found else []
        return sum(float(word) for word in later) / len(later) if later else None


def execute(run: Run, directory: Path) -> Execution:
    """Record the run into `directory`, unless its manifest there says that this very run is complete.

    Raises:
        RunFailedError: The run ended with an error or exceeded its time limit.
    """
    manifest_path, log_path, trace = directory / "manifest.json", directory / "log.txt", directory / "trace"
    description = describe(run)
    earlier = json.loads(manifest_path.read_text()) if manifest_path.exists() else {}
    if earlier.get("complete") and earlier["description"] == description:
        return Execution(run, trace, earlier["seconds"], was_complete=True)

    directory.mkdir(parents=True, exist_ok=True)
    manifest_path.unlink(missing_ok=True)
    command, environment = command_of(run, trace), environment_of(run)
    started, start = datetime.now(timezone.utc), time.monotonic()
    with log_path.open("w") as log:
        status = run_limited(command, environment, directory, log.fileno(), run.time_limit_s)
    seconds = round(time.monotonic() - start, 3)
    manifest = {
        "complete": status == 0,
        "description": description,
        "command": command,
        "environment": environment,
        "exit_status": status,
        "started": started.isoformat(timespec="seconds"),
        "seconds": seconds,
        "machine": machine(),
    }
    manifest_path.write_text(json.dumps(manifest, indent=2) + "\n")
    if status != 0:
        raise RunFailedError(failure(run, status, log_path))
    return Execution(run, trace, seconds, was_complete=False)


def describe(run: Run) -> dict[str, object]:
    """Everything that decides what the run does; a run is repeated when any of it changes."""
    fields = dataclasses.asdict(run)
    return fields | {
        "python": str(run.python),
        "script": run.script.name,
        "sources_sha256": hash_of_sources(run.script.parent),
        "arguments": list(run.arguments),
        "versions": versions(run.python),
    }


def hash_of_sources(directory: Path) -> str:
    """Of a script and those that it imports, which lie beside it."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(directory.glob("*.py")))).hexdigest()


def versions(python: Path) -> dict[str, str]:
    """The versions of this Python and of the packages there that matter to a measurement."""
    return {"python": platform.python_version()} | {package: version_of(python, package) for package in PACKAGES}


def machine() -> dict[str, object]:
    """The machine, as far as it explains a time."""
    models = [
        line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
    ]
    return {
        "cpu": models[0] if models else platform.machine(),
        "cores": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "kernel": platform.release(),
    }


def command_of(run: Run, trace: Path) -> list[str]:
    """The command line of the run, which can be pasted into a shell."""
    return [
        *(str(run.python), "-m", "rlscope", "record", "--force", "-o", str(trace)),
        *("--delay-iterations", str(run.delay_iterations), "--max-iterations", str(run.max_iterations)),
        *("--", str(run.python), str(run.script), *run.arguments),
    ]


def environment_of(run: Run) -> dict[str, str]:
    """The complete environment of the run."""
    threads = str(run.threads)
    return {name: os.environ[name] for name in INHERITED if name in os.environ} | {
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
        "PYTHONHASHSEED": "0",
        "PYTHONUNBUFFERED": "1",
        # XLA takes its threads from the number of cores, whatever OMP_NUM_THREADS says.
        "XLA_FLAGS": f"--xla_cpu_multi_thread_eigen={int(run.threads > 1)} intra_op_parallelism_threads={threads}",
        # A run on the CPU must not find a device by itself.
        "CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES", "0") if run.device == "cuda" else "",
    }


def run_limited(
    command: list[str], environment: dict[str, str], directory: Path, output: int, time_limit_s: float
) -> int:
    """Run the command and everything that it starts, for a limited time. Returns its exit status."""
    process = subprocess.Popen(
        command,
        env=environment,
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        return process.wait(time_limit_s)
    except subprocess.TimeoutExpired:
        return end_group(process) or -signal.SIGTERM  # too slow is failed, whatever it says
    except BaseException:
        end_group(process)
        raise


def end_group(process: subprocess.Popen[bytes]) -> int:
    """End the process and its children: politely first, so that the trace is closed."""
    os.killpg(process.pid, signal.SIGTERM)
    try:
        return process.wait(SECONDS_TO_END_IN)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.wait()


def failure(run: Run, status: int, log: Path) -> str:
    """What to tell the user about a failed run."""
    tail = "\n".join(f"    {line}" for line in log.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:])
    ended = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"exited with status {status}"
    return f"run {run.name} {ended} (limit {run.time_limit_s:g} s). The end of its log, {log}:\n{tail}"
