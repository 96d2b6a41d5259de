"""Reading and writing `manifest.json`, which says what run a trace is of. Standard library only."""

import json
import os
from pathlib import Path
from typing import Any

from rlscope.errors import TraceError, TraceFormatError

MANIFEST_NAME = "manifest.json"


def read_manifest(directory: str | os.PathLike[str]) -> dict[str, Any]:
    """The manifest of the trace in `directory`; empty if there is none yet.

    Raises:
        TraceError: the file may not be read.
        TraceFormatError: the file is not a JSON object.
    """
    path = Path(directory, MANIFEST_NAME)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise TraceError(f"the manifest could not be read: {error}; make it readable") from error
    except UnicodeDecodeError as error:
        raise TraceFormatError(f"{path} is not UTF-8 at byte {error.start}; delete it and analyze again") from error
    try:
        manifest = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TraceFormatError(f"{path} is not JSON: {error}; delete it and analyze again") from error
    if not isinstance(manifest, dict):
        raise TraceFormatError(f"{path} holds no JSON object; delete it and analyze again")
    return manifest


def write_manifest(directory: str | os.PathLike[str], manifest: dict[str, Any]) -> None:
    """Replaces the manifest in one step: a reader sees the old one or the new one."""
    path = Path(directory, MANIFEST_NAME)
    unfinished = path.with_name(f"{MANIFEST_NAME}.{os.getpid()}")
    unfinished.write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    unfinished.replace(path)
