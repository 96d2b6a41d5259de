"""This file writes what a build is made from as JSON: a hash of the recorder's sources, the commit, whether it was
changed.

python cmake/built_from.py built_from.json
"""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: What decides what is recorded; tables are made anew from a trace each time.
COMPILED = ("src/core", "src/cuda", "src/python")
PYTHON = ("rlscope/record", "rlscope/libraries")
SUFFIXES = {".py", ".cpp", ".h"}


def hash_of(root: Path, folders: "tuple[str, ...]") -> str:
    """Return the same for the same sources, wherever they lie and whatever they are compiled with."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(path for path in (root / folder).rglob("*") if path.suffix in SUFFIXES):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def asked_of_git(root: Path, *words: str) -> "str | None":
    """Return what git says, None where there is no git, or this is no repository."""
    try:
        asked = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return asked.stdout.strip()


def built_from(root: Path, native_sha256: "str | None" = None) -> "dict[str, object]":
    """Return what is known of the sources below `root`; of those in C++ by their hash, if they were compiled before."""
    native_sha256 = native_sha256 or hash_of(root, COMPILED)
    # A repository around these sources, as around an unpacked source package, is not theirs.
    is_own = (root / ".git").exists()
    status = asked_of_git(root, "status", "--porcelain") if is_own else None
    return {
        "recorder_sha256": hashlib.sha256((native_sha256 + hash_of(root, PYTHON)).encode()).hexdigest(),
        "commit": asked_of_git(root, "rev-parse", "HEAD") if is_own else None,
        "changed": None if status is None else bool(status),
        "native_sha256": native_sha256,
    }


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(built_from(ROOT), indent=2) + "\n")
