"""manifest.json: what a trace is and whether it is complete. Standard library only."""

import json
import os
from pathlib import Path
from typing import Any

MANIFEST_NAME = "manifest.json"


def read_manifest(directory: Path) -> dict[str, Any]:
    """Reads manifest.json of the trace in `directory`."""
    manifest: dict[str, Any] = json.loads((directory / MANIFEST_NAME).read_text())
    return manifest


def write_manifest(directory: Path, manifest: dict[str, Any]) -> None:
    """Writes manifest.json in one step that no reader sees half of."""
    partial = directory / f".{MANIFEST_NAME}.{os.getpid()}"
    partial.write_text(json.dumps(manifest, indent=2) + "\n")
    partial.replace(directory / MANIFEST_NAME)
