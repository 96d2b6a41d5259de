"""This module tells whether CUPTI can be had, and in which folders Python packages keep it; it imports none of them."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as `typing` has it, whose import takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Iterable

#: Nsight Compute sets it for what it starts, and ends a program for which another library is injected.
NSIGHT_COMPUTE_VARIABLE = "NV_TPS_LAUNCH_TOKEN"
LIBRARY = "libcupti.so."
_LONGEST_VERSION = 3


def cupti_directories(paths: Iterable[str] | None = None) -> str:
    """Return the folders `nvidia/*/lib` of `paths` that hold a libcupti, of the newest CUDA first, with ':' between.

    Args:
        paths: where packages are looked for; sys.path if not given.
    """
    found: dict[str, int] = {}
    for path in sys.path if paths is None else paths:
        packages = os.path.join(path or os.curdir, "nvidia")
        for package in _names(packages):
            directory = os.path.abspath(os.path.join(packages, package, "lib"))
            versions = [version for name in _names(directory) if (version := _version(name)) is not None]
            # A name that is no text, or holds the separator, cannot be handed on.
            if versions and ":" not in directory and directory.isprintable():
                found[directory] = max(versions)
    return ":".join(sorted(found, key=lambda directory: -found[directory]))


def _version(name: str) -> int | None:
    """Return the version of CUDA, if `name` is that of a libcupti."""
    version = name.removeprefix(LIBRARY)
    is_version = version != name and version.isascii() and version.isdigit() and len(version) <= _LONGEST_VERSION
    return int(version) if is_version else None


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []
