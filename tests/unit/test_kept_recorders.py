"""Results that are kept say of which recorder they are; those of another one than today's are listed as warnings."""

import json
import warnings
from pathlib import Path
from typing import Any

from experiments import CHECKOUT
from experiments.harness.provenance import of_another_recorder
from experiments.verdicts.kept_verdicts import MEASURED
from experiments.verdicts.other_machines import MACHINE
from rlscope.build import built_from

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


def keep(folder: Path, name: str, recorders: "list[dict[str, object]] | None") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps({} if recorders is None else {"recorders": recorders}))


def test_results_of_another_recorder_are_known(tmp_path: Path) -> None:
    results, study = tmp_path / "tests" / "gpu" / "results", tmp_path / "experiments" / "a_study"
    other = built_from() | {"recorder_sha256": "0123456789abcdef"}
    keep(results, "machine.json", [other])
    keep(results / "new", "machine.json", [built_from()])
    keep(results / "both", "machine.json", [built_from(), other])
    keep(results / "unknown", "machine.json", None)
    keep(results / "scale_up" / "h200", "machine.json", [built_from() | {"commit": "another one"}])
    keep(study / "measured" / "h200", "claims.json", [other])
    keep(study / "measured" / "two_files", "machine.json", [built_from()])
    keep(study / "measured" / "two_files", "claims.json", None)
    (results / "beside").mkdir()
    (results / "beside" / "rows.csv").write_text("of the folder around it\n")
    (results / "empty").mkdir()

    now = built_from()["recorder_sha256"][:12]
    both = ", ".join(sorted(["0123456789ab", now]))
    assert {str(folder.relative_to(tmp_path)): why for folder, why in recorders_of_kept(tmp_path).items()} == {
        "experiments/a_study/measured/h200": f"of another recorder (0123456789ab) than today's ({now})",
        "experiments/a_study/measured/two_files": "of a recorder before hashes were kept",
        "tests/gpu/results": f"of another recorder (0123456789ab) than today's ({now})",
        "tests/gpu/results/beside": f"of another recorder (0123456789ab) than today's ({now})",
        "tests/gpu/results/both": f"of another recorder ({both}) than today's ({now})",
        "tests/gpu/results/new": "",
        "tests/gpu/results/scale_up/h200": "",
        "tests/gpu/results/unknown": "of a recorder before hashes were kept",
    }


def test_what_is_kept_in_the_checkout_is_listed() -> None:
    """It does not fail where results are of another recorder: measuring them anew takes a GPU."""
    found = recorders_of_kept()
    assert {"tests/gpu/results/processes", "experiments/data_collection/measured/h200"} <= {
        str(folder.relative_to(CHECKOUT)) for folder in found
    }
    others = [f"{folder.relative_to(CHECKOUT)}: {why}" for folder, why in found.items() if why]
    if others:
        warnings.warn("kept results\n" + "\n".join(others), stacklevel=1)
