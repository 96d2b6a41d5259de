"""This file tells what the package was built from, which stands in every trace."""

import json
import runpy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

#: In the folder of the package.
BUILT_FROM = "built_from.json"


def built_from(package: Path = Path(__file__).parent) -> dict[str, Any]:
    """Return what a package was built from, this one unless another one's folder is given.

    Of a checkout, where an edit of Python needs no build, Python's part is looked at now.

    Returns:
        `recorder_sha256`, of the sources that decide what is recorded; `commit`, and whether it was `changed`, both
        None where the sources were in no repository; `native_sha256`, of the sources that were compiled.
    """
    found: dict[str, Any] = json.loads((package / BUILT_FROM).read_text())
    describe = package.parent / "cmake" / "built_from.py"
    if describe.exists():
        found = runpy.run_path(str(describe))["built_from"](package.parent, found["native_sha256"])
    return found


def recorder_text(built: Mapping[str, Any]) -> str:
    """Return the same for people: "recorder 3f2a1b0c9d8e (commit 1f0acf17, changed)"."""
    commit, changed = built.get("commit"), ", changed" if built.get("changed") else ""
    text = f"recorder {str(built.get('recorder_sha256'))[:12]}"
    return f"{text} (commit {str(commit)[:8]}{changed})" if commit else text
