"""This file measures what recording adds to a program that does nothing, and what importing rlscope takes."""

import itertools
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks import OUTPUT
from benchmarks.result import Target, Value, print_results, results
from benchmarks.timing import command_ns, median

REPEATS = 15
TORCH_REPEATS = 5
CHILDREN = 8
#: In ms: of an empty script, and of one of its children.
EMPTY, CHILD = Target(50), Target(10)
IMPORTS = {
    "rlscope": "rlscope",
    "cProfile": "cProfile",
    "VizTracer": "viztracer",
    "pyinstrument": "pyinstrument",
    "nvtx": "nvtx",
    "torch (holds torch.profiler)": "torch",
}


def added_ms(code: str, directory: Path, repeats: int) -> dict[str, Value]:
    """Return milliseconds that each profiler's command adds to a script; what they write goes into a new directory."""
    directory.mkdir()
    script = directory / "script.py"
    script.write_text(code + "\n")
    binaries, number = Path(sys.executable).parent, itertools.count()

    def recorded() -> list[str]:
        trace = directory / f"trace_{next(number)}"
        return [str(binaries / "rlscope"), "record", "-o", str(trace), "--", sys.executable, str(script)]

    out = str(directory / "peer_output")
    commands = {
        "plain": lambda: [sys.executable, str(script)],
        "rlscope": recorded,
        "cProfile": lambda: [sys.executable, "-m", "cProfile", "-o", out, str(script)],
        "VizTracer": lambda: [str(binaries / "viztracer"), "--quiet", "-o", f"{out}.json", str(script)],
        "pyinstrument": lambda: [str(binaries / "pyinstrument"), "-o", f"{out}.txt", str(script)],
    }
    return _differences(command_ns(commands, repeats))


def child_ms(directory: Path) -> Value:
    """Return milliseconds that recording adds to each Python that a script starts, one after the other."""
    directory.mkdir()
    found_ns: dict[str, list[float]] = {"plain": [], "recorded": []}
    code = (
        "import subprocess, sys, time\n"
        "for _ in range(1 + int(sys.argv[1])):\n"
        "    started = time.perf_counter_ns()\n"
        "    subprocess.run([sys.executable, '-c', 'pass'], check=True)\n"
        "    print(time.perf_counter_ns() - started)\n"
    )
    command = [sys.executable, "-c", code, str(CHILDREN)]
    for number in range(TORCH_REPEATS):
        record = [
            str(Path(sys.executable).with_name("rlscope")),
            "record",
            "-o",
            str(directory / f"trace_{number}"),
            "--",
        ]
        for name, words in (("plain", command), ("recorded", record + command)):
            said = subprocess.run(
                words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            ).stdout
            found_ns[name] += [int(line) for line in said.split()[1:]]  # the first one waits for the disk
    return median(
        [(after - before) / 1e6 for before, after in zip(found_ns["plain"], found_ns["recorded"], strict=True)]
    )


def _differences(times_ns: dict[str, list[int]]) -> dict[str, Value]:
    plain = times_ns.pop("plain")
    return {
        name: median([(time - base) / 1e6 for time, base in zip(found, plain, strict=True)])
        for name, found in times_ns.items()
    }


def main() -> None:
    """Measure whole commands, and imports."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    directory = Path(tempfile.mkdtemp(dir=OUTPUT))
    try:
        found = added_ms("pass", directory / "empty", REPEATS)
        print_results(results("record, added to an empty script", "ms", found.pop("rlscope"), found, EMPTY))
        print_results(results("record, added to a Python child", "ms", child_ms(directory / "children"), target=CHILD))
        found = added_ms("import torch", directory / "torch", TORCH_REPEATS)
        print_results(results("record, added to import torch", "ms", found.pop("rlscope"), found))
    finally:
        shutil.rmtree(directory)
    imports = {"plain": "pass"} | {name: f"import {module}" for name, module in IMPORTS.items()}
    commands: dict[str, Callable[[], Sequence[str]]] = {
        name: partial(list, (sys.executable, "-c", code)) for name, code in imports.items()
    }
    found = _differences(command_ns(commands, TORCH_REPEATS))
    print_results(results("import rlscope", "ms", found.pop("rlscope"), found))


if __name__ == "__main__":
    main()
