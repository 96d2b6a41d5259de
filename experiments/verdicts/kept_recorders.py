"""Of which recorder each folder of kept results is, so that results which the present code has not seen are known."""

import json
from pathlib import Path
from typing import Any

from experiments import CHECKOUT
from experiments.harness.provenance import of_another_recorder
from experiments.verdicts.kept_verdicts import MEASURED
from experiments.verdicts.other_machines import MACHINE

#: In the checkout: folders of machines, and of the studies' verdicts.
KEPT = ("tests/gpu/results", f"experiments/*/{MEASURED}")


def recorders_of_kept(root: Path = CHECKOUT) -> dict[Path, str]:
    """Each folder below `root` that holds kept results, and why they are not of the recorder of now; empty if they are.

    What a folder does not say of itself, in machine.json or claims.json, the one around it does.
    """
    kept = [folder for pattern in KEPT for folder in root.glob(pattern)]
    folders = [folder for top in kept for folder in [top, *top.rglob("*")] if holds_results(folder)]
    return {folder: of_another_recorder(origin_of(folder, root).get("recorders", [])) for folder in sorted(folders)}


def holds_results(folder: Path) -> bool:
    """Whether it has files besides a README."""
    return folder.is_dir() and any(path.is_file() and path.suffix != ".md" for path in folder.iterdir())


def origin_of(folder: Path, root: Path) -> dict[str, Any]:
    """Where the results in a folder come from, as far as that is known."""
    for place in [folder, *folder.parents]:
        for name in (MACHINE, "claims.json"):
            if (place / name).exists():
                found = json.loads((place / name).read_text())
                return found if isinstance(found, dict) else {}
        if place == root:
            break
    return {}
