"""Verdicts that were kept, beside those of now: a claim that held and now differs is broken."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.claims import DIFFERS, HOLDS, Verdict, measured_text
from experiments.statistics import Estimate
from rlscope.errors import UsageError

#: In the folder of a study: for each machine the claims.json that its runs have left, in a folder of its own.
MEASURED = "measured"

Key = tuple[str, str, str, str]


def broken_claims(verdicts: Sequence[Verdict], hardware: Sequence[Mapping[str, Any]], folder: Path) -> list[str]:
    """A sentence for each claim that differs now, and held with what is kept of a machine of the same kind.

    Both are clear: a verdict holds or differs only where the whole interval says so. What is kept is judged anew by the
    limits of now, so a limit that was changed breaks nothing by itself.

    Args:
        verdicts: of now.
        hardware: the machines that have executed the runs of now.
        folder: of the study, with what is kept in MEASURED.
    """
    differing = {key_of(verdict): verdict for verdict in verdicts if verdict.verdict == DIFFERS}
    sentences = []
    for path in sorted((folder / MEASURED).glob("*/claims.json")):
        for key, before in kept_measurements(path, has_gpu(hardware)):
            now = differing.get(key)
            if now and now.claim.verdict_on(before) == HOLDS:
                sentences.append(
                    f"{now.claim.id} ({now.subject}) is broken: {now.claim.statement}. It holds if "
                    f"{now.claim.metric} is {now.claim.condition}: {measured_text(before)} in {path}, "
                    f"{measured_text(now.measured)} now"
                )
    return sentences


def key_of(verdict: Verdict) -> Key:
    """What makes two verdicts be about the same."""
    return verdict.claim.id, verdict.claim.metric, verdict.claim.hardware, verdict.subject


def has_gpu(hardware: Sequence[Mapping[str, Any]]) -> bool:
    """Whether any of the machines has one."""
    return any("gpus" in machine for machine in hardware)


def kept_measurements(path: Path, on_gpu: bool) -> Iterator[tuple[Key, Estimate]]:
    """The measurements in a claims.json that can be compared with runs of now.

    Claims for any hardware can be where the machine was of the same kind. Claims for a GPU always can be: without one
    they are judged by the results of a machine that the subject names.

    Args:
        path: of the file.
        on_gpu: whether the runs of now were executed on a machine with a GPU.

    Raises:
        UsageError: It is damaged.
    """
    try:
        contents = json.loads(path.read_text())
        is_alike = has_gpu(contents["hardware"]) == on_gpu
        for entry in [*contents["claims"], *contents["calculated"]]:
            claim = entry["claim"]
            if entry["measured"] and (is_alike or claim["hardware"] == "gpu"):
                key = (claim["id"], claim["metric"], claim["hardware"], entry["subject"])
                yield key, Estimate(**entry["measured"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UsageError(
            f"{path}: expected the claims.json of a study, found: {error!r}. Restore the file, or remove it"
        ) from error
