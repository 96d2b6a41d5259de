"""This file starts and ends the process that samples hardware counters beside a recorded command."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlscope.errors import RecordingError
from rlscope.record.run.trace_directory import INJECTION_VARIABLE
from rlscope.text.numbers import duration

SAMPLER = "rlscope.monitor.counter_sampler"
#: For decoding what is left; the device's buffer holds some seconds.
PATIENCE_S = 30.0


@dataclass
class Counted:
    """This says what was sampled; the manifest has it as `counters`.

    Attributes:
        facts: `devices`, each with `uuid`, `samples` and `lost_samples`; and `error`, None if all went well.
    """

    facts: dict[str, Any] = field(default_factory=lambda: {"devices": [], "error": None})


@contextmanager
def counted(directory: Path, counters: tuple[str, ...]) -> Iterator[Counted]:
    """Sample the counters while the block runs; begin it when they are being sampled, or cannot be."""
    found = Counted()
    if not counters:
        yield found
        return
    sampler = start_sampler(str(directory), ",".join(counters))
    found.facts |= _answer(sampler)
    try:
        yield found
    finally:
        if found.facts["error"] is None:
            assert sampler.stdin is not None
            sampler.stdin.close()
            sampler.stdin = None
            found.facts |= _last_answer(sampler)
        sampler.kill()
        sampler.wait()


def list_counters() -> None:
    """Print what the first device offers.

    Raises:
        RecordingError: it offers nothing; the message says why.
    """
    sampler = start_sampler("list")
    text, _ = sampler.communicate()
    if text.startswith("{"):
        raise RecordingError(f"no counters: {json.loads(text)['error']}")
    if sampler.returncode != 0:
        raise RecordingError(f"no counters: the process that lists them ended with status {sampler.returncode}")
    sys.stdout.write(text)


def start_sampler(*arguments: str) -> "subprocess.Popen[str]":
    """Start the sampling process, which is not recorded itself, and return it."""
    variables = {key: value for key, value in os.environ.items() if key != INJECTION_VARIABLE}
    command = [sys.executable, "-m", SAMPLER, *arguments]
    # In a session of its own: what ends the command does not end it, but the end of its standard input does.
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=variables,
        bufsize=1,
        start_new_session=True,
    )


def _answer(sampler: "subprocess.Popen[str]") -> dict[str, Any]:
    """Return the first line: whether counting has begun."""
    assert sampler.stdout is not None
    line = sampler.stdout.readline()
    return dict(json.loads(line)) if line else {"error": "the process that samples them ended before it began"}


def _last_answer(sampler: "subprocess.Popen[str]") -> dict[str, Any]:
    try:
        text, _ = sampler.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        return {"error": f"the process that samples them had not ended after {duration(PATIENCE_S)}"}
    return dict(json.loads(text)) if text else {"error": "the process that samples them was lost"}
