"""Records hosts and their faults anew, and measures by a stopwatch what each fault costs, and each repair brings."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import multiprocessing
import os
import re
import runpy
import signal
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
HOSTS, FAULTS, TRACES, MEASURED = HERE / "hosts", HERE / "faults", HERE / "traces", HERE / "measured.json"
#: Patches on hosts that do what a rule found there.
REPAIRS, REPAIRED = HERE / "repairs", HERE / "repaired.json"
#: One thread each, as small networks are trained where several programs share the cores.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def programs() -> list[str]:
    """Return hosts and faults: `actor_critic`, `RLS202_actor_critic`."""
    return sorted(path.stem for path in HOSTS.glob("*.py")) + sorted(path.stem for path in FAULTS.glob("*.patch"))


def host_of(program: str) -> str:
    """Return the host of a fault; a host's is itself."""
    return program.split("_", 1)[1] if program.startswith("RLS") else program


def written(program: str, folder: Path, patches: Path = FAULTS) -> Path:
    """Write a program into a folder: the host, with the patch of the fault, or of the repair, applied."""
    script = folder / f"{host_of(program)}.py"
    script.write_text((HOSTS / script.name).read_text())
    if program != host_of(program):
        with (patches / f"{program}.patch").open() as patch:
            subprocess.run(["patch", "--quiet", str(script)], stdin=patch, check=True)
    return script


def record(program: str) -> None:
    """Record a program in a folder of its own; keep the trace compressed."""
    with tempfile.TemporaryDirectory() as folder:
        script, trace = written(program, Path(folder)), Path(folder) / "trace"
        command = [sys.executable, "-m", "rlscope", "record", "-o", str(trace), "--", sys.executable, script.name]
        subprocess.run(command, cwd=folder, env={**os.environ, **ENVIRONMENT}, capture_output=True, check=True)
        TRACES.mkdir(exist_ok=True)
        packed = TRACES / f".{program}.part"
        with tarfile.open(packed, "w:xz") as archive:
            archive.add(trace, "trace")
        packed.replace(TRACES / f"{program}.tar.xz")


def end_in_time(process: subprocess.Popen[Any], limit_s: float, ending_s: float) -> bool:
    """Wait for a process that leads a group, else end the group by Ctrl-C, and kill it. Return whether it ended."""
    for number, patience_s in ((signal.SIGINT, limit_s), (signal.SIGKILL, ending_s)):
        try:
            process.wait(patience_s)
            return number == signal.SIGINT
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, number)
    process.wait()
    return False


class Pair(NamedTuple):
    """Seconds that a host trained, and a patched one in the same round."""

    host_s: float
    patched_s: float


def _with_a_core() -> float:
    """Return the time of a clock that stands still while this thread is ready to run and has no core."""
    delay_ns = int(Path("/proc/thread-self/schedstat").read_text().split()[1])
    return time.monotonic() - delay_ns / 1e9


def _train(write: Callable[[Path], Path], said: Connection) -> None:
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as output:
        script = write(Path(folder))
        os.chdir(folder)
        time.perf_counter = _with_a_core
        runpy.run_path(str(script), run_name="__main__")
        os.chdir("/")
        said.send(output.getvalue())


def trained(write: Callable[[Path], Path], number: str) -> float:
    """Train without a recording, in a fork that has all imports; return a number that the program says.

    Args:
        write: Writes the program into a folder.
        number: What stands before it in its line: `seconds`.
    """
    context = multiprocessing.get_context("fork")
    said, to_say = context.Pipe(duplex=False)
    process = context.Process(target=_train, args=(write, to_say))
    process.start()
    to_say.close()
    try:
        return float(re.findall(rf"^{number} ([\d.]+)$", said.recv(), re.MULTILINE)[-1])
    finally:
        process.join()


def train(program: str, patches: Path = FAULTS) -> float:
    """Train a program; return the seconds in which it had a core."""
    return trained(lambda folder: written(program, folder, patches), "seconds")


def measure(host: str, programs: Sequence[str], times: int, patches: Path) -> Iterator[dict[str, list[Pair]]]:
    """Train a host and patched ones in turns, without a recording; yield after each round what is known so far.

    Args:
        host: The host.
        programs: Names of patches on it.
        times: Rounds.
        patches: The folder of the patches.

    Yields:
        Of each patch, for each round the seconds of the host and of the patched one.
    """
    pairs: dict[str, list[Pair]] = {program: [] for program in programs}
    for _ in range(times):
        host_s = train(host)
        for program in list(pairs):
            try:
                pairs[program].append(Pair(host_s, train(program, patches)))
            except (EOFError, subprocess.CalledProcessError) as error:
                print(program, error, file=sys.stderr)
                del pairs[program]
        yield pairs


def _summary(factors: list[float]) -> dict[str, float]:
    found = {"factor": statistics.median(factors), "low": min(factors), "high": max(factors)}
    return {name: round(value, 2) for name, value in found.items()} | {"runs": len(factors)}


def _measure(file: Path, patches: Path, chosen: Collection[str], times: int, factor: Callable[[Pair], float]) -> None:
    """Measure patches, those of a host together, and keep what was found."""
    by_host: dict[str, list[str]] = {}
    for program in sorted(path.stem for path in patches.glob("*.patch")):
        if not chosen or program in chosen:
            by_host.setdefault(host_of(program), []).append(program)
    for host, patched in by_host.items():
        for pairs in measure(host, patched, times, patches):
            found = {program: _summary([factor(pair) for pair in each]) for program, each in pairs.items()}
            measured = json.loads(file.read_text()) if file.exists() else {}
            file.write_text(json.dumps(measured | found, indent=1, sort_keys=True) + "\n")
            print(host, pairs, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=3, help="runs of a fault and of its host (0: do not measure)")
    parser.add_argument("--measure-only", action="store_true")
    parser.add_argument("programs", nargs="*")
    arguments = parser.parse_args()
    for program in () if arguments.measure_only else programs():
        if not arguments.programs or program in arguments.programs:
            record(program)
    if arguments.times:
        for module in ("torch", "gymnasium", "mujoco", "pandas", "stable_baselines3"):
            importlib.import_module(module)
        _measure(MEASURED, FAULTS, arguments.programs, arguments.times, lambda pair: pair.patched_s / pair.host_s)
        _measure(REPAIRED, REPAIRS, arguments.programs, arguments.times, lambda pair: pair.host_s / pair.patched_s)


if __name__ == "__main__":
    main()
