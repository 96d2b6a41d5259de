"""This file names the recorders of kept results, so that results which the present code has not seen are known."""

import json
from pathlib import Path
from typing import Any

from experiments import CHECKOUT
from experiments.harness.provenance import of_another_recorder
from experiments.verdicts.kept_verdicts import MEASURED
from experiments.verdicts.other_machines import MACHINE

#: In the checkout: what tests and documents use, and what studies have measured.
KEPT = ("tests/gpu/results", f"experiments/*/{MEASURED}")


def recorders_of_kept(root: Path = CHECKOUT) -> dict[Path, str]:
    """Return each folder below `root` that holds kept results, and why they are not of the recorder of now; empty
    if they are.

    What a folder does not say of itself, in machine.json or claims.json, the one around it does.
    """
    parents = [folder for pattern in KEPT for folder in root.glob(pattern)]
    folders = [folder for top in parents for folder in [top, *top.rglob("*")] if holds_results(folder)]
    return {folder: " and ".join(filter(None, reasons_of(folder, root))) for folder in sorted(folders)}


def holds_results(folder: Path) -> bool:
    """Return whether it has files besides a README."""
    return folder.is_dir() and any(path.is_file() and path.suffix != ".md" for path in folder.iterdir())


def reasons_of(folder: Path, root: Path) -> list[str]:
    """Return why the results in a folder are not of the recorder of now, as each file says that names recorders
    there.
    """
    for place in [folder, *folder.parents]:
        found = [place / name for name in (MACHINE, "claims.json") if (place / name).exists()]
        if found:
            return list(dict.fromkeys(of_another_recorder(recorders_in(path)) for path in found))
        if place == root:
            break
    return [of_another_recorder([])]


def recorders_in(path: Path) -> list[dict[str, Any]]:
    """Return the recorders that a file of kept results names; none if it is older than that."""
    found = json.loads(path.read_text())
    return found.get("recorders", []) if isinstance(found, dict) else []
