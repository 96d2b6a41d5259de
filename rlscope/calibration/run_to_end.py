"""This file runs a process that does not outlive the one that waits for it."""

import subprocess
from collections.abc import Sequence
from typing import Any

#: For what ends a process in an orderly way, such as a recorder that ends what it records.
PATIENCE_S = 5.0


def run_to_end(command: Sequence[str], **options: Any) -> "subprocess.CompletedProcess[str]":
    """Run a command and return what it said; it is ended, too, where an exception ends the wait for it."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", **options
    ) as process:
        try:
            stdout, stderr = process.communicate()
        except BaseException:
            process.terminate()
            try:
                process.communicate(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)
