"""Run the benchmarks, each in a process of its own, and collect what they print.

Writes output/bench/results.jsonl and, as a Markdown table, output/bench/results.md. Benchmarks that are not run keep
the lines of their last run. A target that is missed is reported, it does not fail the command.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import CHECKOUT, OUTPUT
from benchmarks.result import as_table
from experiments.harness.machine import machine_and_gpus
from rlscope.plots.tables import markdown
from rlscope.report.screen import Screen
from rlscope.report.tables import table_lines

PACKAGES = (
    "rlscope", "torch", "stable-baselines3", "gymnasium", "mujoco", "numpy", "pandas", "viztracer", "nvtx",
    "pyinstrument", "py-spy", "scalene", "holistictraceanalysis", "plotly", "playwright",
)  # fmt: skip
ERROR_LINES = 20
TABLE_COLUMNS = 150  # narrower, its cells break into syllables


@dataclass(frozen=True)
class Benchmark:
    """One entry of the list: what it measures, how long it takes on two cores, how it is started, what it needs."""

    name: str
    minutes: float
    about: str
    command: tuple[str, ...]
    environment: str | None = None  # that it needs besides this one, in .venvs


WORKERS = "recording.worker_trace_size"
BENCHMARKS = (
    Benchmark("crossing", 1, "time added to one recorded call of a native function", ("recording.crossing",)),
    Benchmark("operation", 0.5, "time of an operation and of a sample, recorded and not", ("recording.operation",)),
    Benchmark("trace_size_ppo", 1, "bytes per event of a recorded PPO", ("recording.trace_size", "ppo")),
    Benchmark("trace_size_td3", 1, "bytes per event of a recorded TD3", ("recording.trace_size", "td3")),
    Benchmark("trace_size_go", 1, "bytes per event of self-play of Go", (WORKERS, "self-play of Go"), "pytorch"),
    Benchmark("trace_size_rllib", 1.5, "bytes per event of RLlib's PPO", (WORKERS, "RLlib's PPO"), "pytorch"),
    Benchmark("slowdown_ppo", 5, "how much longer PPO takes while it is recorded", ("recording.slowdown", "ppo")),
    Benchmark("slowdown_cartpole", 5, "the same of PPO on CartPole", ("recording.slowdown", "ppo_cartpole")),
    Benchmark("slowdown_td3", 5, "how much longer TD3 takes while it is recorded", ("recording.slowdown", "td3")),
    Benchmark("lines", 6, "what looking at Python's lines adds to PPO", ("recording.lines",)),
    Benchmark("analysis", 1, "speed and memory of the analysis, up to 1e8 events", ("analyzing.speed",)),
    Benchmark("report_time", 0.5, "time of rlscope report, analyze and inspect", ("analyzing.report_time",)),
    Benchmark("page", 4, "size of the page, time of making, opening and moving in it", ("showing.page",)),
    Benchmark("startup", 2, "time that rlscope record and import rlscope take", ("recording.startup",)),
    Benchmark("compare", 2, "how often rlscope compare is right on runs that are known", ("comparing.alarms",)),
    Benchmark("try", 5, "time of rlscope try until a change is decided", ("comparing.trials",)),
    Benchmark("export", 2, "speed, memory and size of exported files, 1e6 and 1e7 events", ("exporting.speed",)),
    Benchmark("growth", 5, "how costs grow, up to 1e9 events and 1,000 processes: fig_growth", ("growth",)),
)


def run(benchmark: Benchmark) -> bool:
    """Run a benchmark, whose lines go to stdout and to a file. Return whether it succeeded."""
    if benchmark.environment is not None and not (CHECKOUT / ".venvs" / benchmark.environment / ".package").exists():
        print(f"{benchmark.name} is left out: `make install-experiments` makes what it needs", file=sys.stderr)
        return True
    module, *arguments = benchmark.command
    lines_path, log_path = OUTPUT / f"{benchmark.name}.jsonl", OUTPUT / f"{benchmark.name}.log"
    partial_path = lines_path.with_suffix(".partial")
    command = [sys.executable, "-m", f"benchmarks.{module}", *arguments]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    with log_path.open("w") as log, partial_path.open("w") as lines:
        process = subprocess.Popen(
            command, cwd=CHECKOUT, env=os.environ | threads, stdout=subprocess.PIPE, stderr=log, text=True
        )
        assert process.stdout is not None
        for line in process.stdout:
            if not line.startswith('{"metric"'):  # peers print too
                continue
            sys.stdout.write(line)
            sys.stdout.flush()
            lines.write(line)
    if process.wait() != 0:
        tail = "".join(log_path.read_text(errors="replace").splitlines(keepends=True)[-ERROR_LINES:])
        message = f"benchmark {benchmark.name} exited with status {process.returncode}; {log_path}:"
        print(f"{message}\n{tail}", file=sys.stderr)
        return False
    partial_path.replace(lines_path)
    return True


def machine_and_versions() -> str:
    """Return machine and versions, in one paragraph."""
    facts = machine_and_gpus()
    clock = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource").read_text().strip()
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    return (
        f"{time.strftime('%Y-%m-%d', time.gmtime())}: {facts['cpu']}, {facts['cores']} cores, "
        f"{facts['memory_bytes'] / 2**30:.0f} GiB, Linux {facts['kernel']}, clock source {clock}, "
        f"load average {os.getloadavg()[0]:.1f}. CPython {platform.python_version()}, {versions}.\n"
    )


def collect(about: str) -> list[dict[str, object]]:
    """Join the lines of all benchmarks that were ever run here into results.jsonl and results.md."""
    paths = [path for benchmark in BENCHMARKS if (path := OUTPUT / f"{benchmark.name}.jsonl").exists()]
    text = "".join(path.read_text() for path in paths)
    (OUTPUT / "results.jsonl").write_text(text)
    lines = [json.loads(line) for line in text.splitlines()]
    (OUTPUT / "results.md").write_text(f"{about}\n{markdown(as_table(lines))}")
    return lines


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--list", action="store_true", help="show the benchmarks and how many minutes each takes")
    parser.add_argument(
        "--only", metavar="NAME", action="append", default=[], help="run these; several with commas or by repeating it"
    )
    parsed = parser.parse_args(arguments)
    names = [benchmark.name for benchmark in BENCHMARKS]
    parsed.only = [name.strip() for group in parsed.only for name in group.split(",") if name.strip()]
    unknown = [name for name in parsed.only if name not in names]
    if unknown:
        parser.error(f"a benchmark was expected ({', '.join(names)}), {', '.join(unknown)} was found; see --list")
    return parsed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for. Return 1 if a benchmark could not run, else 0."""
    parsed = parse(arguments)
    if parsed.list:
        for benchmark in BENCHMARKS:
            print(f"{benchmark.name:<16} {benchmark.minutes:>4} min  {benchmark.about}")
        print(f"{'all':<16} {sum(benchmark.minutes for benchmark in BENCHMARKS):>4} min")
        return 0
    OUTPUT.mkdir(parents=True, exist_ok=True)
    wanted = [benchmark for benchmark in BENCHMARKS if not parsed.only or benchmark.name in parsed.only]
    about = machine_and_versions()
    failed = [benchmark.name for benchmark in wanted if not run(benchmark)]
    lines = collect(about)
    print(about)
    screen = Screen(max(TABLE_COLUMNS, Screen.of_stdout().width))
    print("\n".join(table_lines("Results", as_table(lines).drop(columns="note").to_dict("records"), screen)))
    print(f"wrote {OUTPUT / 'results.jsonl'} and results.md")
    if failed:
        print(f"could not run: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
