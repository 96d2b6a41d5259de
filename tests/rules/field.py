"""Records programs that nobody wrote for rules, and keeps what rules find in them: `field.json`."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import tomllib
from rules.recording import end_in_time

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROGRAMS, FOUND = HERE / "field.toml", HERE / "field.json"
#: Seconds after which a program is ended as by Ctrl-C, and those that it then has to end.
LIMIT, ENDING = 30, 60
#: One thread each, as the studies have it; no window, no GPU.
VARIABLES = {
    "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "SDL_VIDEODRIVER": "dummy", "MPLBACKEND": "agg",
    "CUDA_VISIBLE_DEVICES": "", "WANDB_MODE": "disabled",
}  # fmt: skip


def programs() -> dict[str, dict[str, Any]]:
    """Return the table's programs by what they are of and their name."""
    return {f"{each['of']}: {each['name']}": each for each in tomllib.loads(PROGRAMS.read_text())["program"]}


def command_in(program: dict[str, Any], environments: Path, folder: Path) -> list[str]:
    """Return the command of a program that runs in this folder, and put there what it needs."""
    environment = environments / program["environment"]
    if "source" in program:
        _unpack_source(program["source"], folder)
    if "copied" in program:
        (installed,) = environment.glob(f"lib/python3*/site-packages/{program['copied']}")
        shutil.copy(installed, folder)
    for place in (Path("experiments", "workloads"), Path("tests", "frameworks", "trainers")):
        if program["command"][0].startswith(f"{place.name}/"):
            shutil.copytree(ROOT / place, folder / place.name)
    return [str(environment / "bin" / "python"), *program["command"]]


def _unpack_source(name: str, folder: Path) -> None:
    """Unpack what a package's own distribution ships, of which tests/others knows the version and the digest."""
    sys.path.insert(0, str(ROOT / "tests" / "others"))
    from sources import fetch, unpack
    from suites import TABLE, Source

    source = Source(name, **tomllib.loads(TABLE.read_text())["sources"][name])
    unpack(fetch(source, ROOT / "build" / "others"), folder)


def record(program: dict[str, Any], environments: Path, folder: Path, limit: float) -> float:
    """Record a program into `trace` of a folder; return the seconds that it ran."""
    python, *words = command_in(program, environments, folder)
    command = [python, "-m", "rlscope", "record", "-o", "trace", "--", python, *words]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    begin = time.monotonic()
    with (folder / "log.txt").open("w") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=clean | VARIABLES, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True,
        )  # fmt: skip
        has_ended = end_in_time(process, limit, ENDING)
    if has_ended and process.returncode != 0:
        said = (folder / "log.txt").read_text()[-3000:]
        raise SystemExit(f"{' '.join(command)}: status 0 was expected, found {process.returncode}\n{said}")
    return time.monotonic() - begin


def findings(folder: Path) -> list[dict[str, Any]]:
    """Return what `rlscope check --json` says of `trace` of a folder."""
    command = [sys.executable, "-m", "rlscope", "check", "--json", "trace"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    checked = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if checked.returncode > 1:
        raise SystemExit(f"rlscope check: status 0 or 1 was expected, found {checked.returncode}")
    (found,) = json.loads(checked.stdout)["runs"].values()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--environments", type=Path, default=ROOT / ".venvs", help="the folder of environments")
    parser.add_argument("--seconds", type=float, default=LIMIT, help="at most so many seconds of each program")
    parser.add_argument("--keep", type=Path, help="a folder in which traces are kept")
    parser.add_argument("programs", nargs="*", help="how names of programs begin; all unless given")
    arguments = parser.parse_args()
    failed = []
    for name, program in programs().items():
        if arguments.programs and not name.startswith(tuple(arguments.programs)):
            continue
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            if arguments.keep:
                folder = arguments.keep / name.replace("/", "_").replace(" ", "_")
                folder.mkdir(parents=True)
            try:
                seconds = record(program, arguments.environments.absolute(), folder, arguments.seconds)
                found = findings(folder)
            except SystemExit as error:
                print(name, error, file=sys.stderr, flush=True)
                failed.append(name)
                continue
        kept = json.loads(FOUND.read_text()) if FOUND.exists() else {}
        kept[name] = {"seconds": round(seconds, 1), "limit": arguments.seconds, "findings": found}
        FOUND.write_text(json.dumps(kept, indent=1) + "\n")
        print(name, f"{seconds:.1f} s", *(f"{row['code']} {row['share']}" for row in found), flush=True)
    if failed:
        raise SystemExit(f"recordings of all programs were expected, found none of {', '.join(failed)}")


if __name__ == "__main__":
    main()
