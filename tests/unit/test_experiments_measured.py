"""What other machines have measured, as studies keep it: it can be read, is written as it was, and damage is told."""

import shutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from experiments import CHECKOUT
from experiments.verdicts.claims import load_claims
from experiments.verdicts.kept_verdicts import MEASURED
from experiments.verdicts.other_machines import MACHINE, kept_results
from rlscope.errors import UsageError

#: Studies that are about machines alone, and where each reads what they have measured and names its metrics.
LOADERS = {
    "data_collection": ("measurements", "run:measured_metrics"),
    "gpu_utilization": ("measurements", "run:measured_metrics"),
    "llm_rl": ("measurements", "run:measured_metrics"),
    "scale_up": ("measurements", "run:measured_metrics"),
    "simulator_choice": ("device_measurements", "device_metrics:metrics_of"),
}
#: Of claims about GPUs: what these machines have not measured, or another part of the study does.
UNMEASURED = {
    "llm_rl": {"stale_to_kept_tokens"},
    "simulator_choice": {"cuda_to_other_categories", "largest_gpu_share", "largest_gpu_only_share"},
}
FOLDERS = sorted(
    path.parent for name in LOADERS for path in CHECKOUT.glob(f"experiments/{name}/{MEASURED}/*/{MACHINE}")
)


def loader_of(folder: Path) -> Callable[[Path], Any]:
    study = folder.parents[1].name
    load: Callable[[Path], Any] = import_module(f"experiments.{study}.{LOADERS[study][0]}").load
    return load


@pytest.fixture(params=FOLDERS, ids=lambda folder: f"{folder.parents[1].name} {folder.name}")
def folder(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


def test_each_of_these_studies_keeps_some() -> None:
    assert {folder.parents[1].name for folder in FOLDERS} == set(LOADERS)


def test_it_has_what_claims_about_gpus_need(folder: Path) -> None:
    study = folder.parents[1].name
    kept = loader_of(folder)(folder)
    module, _, name = LOADERS[study][1].partition(":")
    measured = getattr(import_module(f"experiments.{study}.{module}"), name)
    found = set(measured(kept.tables if name == "metrics_of" else kept))
    claims = {claim.metric for claim in load_claims(folder.parents[1] / "claims.toml") if claim.hardware == "gpu"}
    assert kept.hardware == "gpu"
    assert claims - found == UNMEASURED.get(study, set())


def test_it_is_written_as_it_was(folder: Path, tmp_path: Path) -> None:
    loader_of(folder)(folder).save(tmp_path / folder.name)
    for path in (tmp_path / folder.name).iterdir():
        assert path.read_text() == (folder / path.name).read_text(), path.name
    ((name, again),) = kept_results(tmp_path, loader_of(folder)).items()
    assert name == folder.name and again.device_name in again.source and again.date in again.source
    assert kept_results(tmp_path / "nowhere", loader_of(folder)) == {}


def test_damage_is_told(folder: Path, tmp_path: Path) -> None:
    tables = sorted(path.name for path in folder.glob("*.csv"))
    assert tables
    for name in tables:
        for damage in (None, "", "operation\n"):
            damaged = shutil.copytree(folder, tmp_path / "measured" / "one", dirs_exist_ok=True)
            (damaged / name).unlink() if damage is None else (damaged / name).write_text(damage)
            with pytest.raises(UsageError, match=rf"expected .*{name}.* and machine.json of a measured machine"):
                kept_results(tmp_path / "measured", loader_of(folder))
