"""This file sets kept verdicts beside those of now: some claims are broken, some only another machine can test."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.harness.provenance import remark_on
from experiments.verdicts.claims import DIFFERS, HOLDS, NOT_TESTABLE, Claim, Verdict, judge_one
from experiments.verdicts.statistics import Estimate
from rlscope.errors import UsageError

#: In the folder of a study: for each machine a folder with the claims.json that its runs have left, or with what they
#: have measured, beside a machine.json.
MEASURED = "measured"

NONE_KEPT = "no such runs of another machine are kept"

Key = tuple[str, str, str, str]


def broken_claims(verdicts: Sequence[Verdict], hardware: Sequence[Mapping[str, Any]], folder: Path) -> list[str]:
    """Return a sentence for each claim that differs now, and held with what is kept of a machine of the same kind.

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
                    f"{now.claim.metric} is {now.claim.condition}: {now.claim.measured_text(before)} in {path}, "
                    f"{now.measured_text} now"
                )
    return sentences


def with_kept(verdicts: Sequence[Verdict], folder: Path, others: Sequence[Verdict] = ()) -> list[Verdict]:
    """Return the verdicts of now; claims that need a GPU which this machine lacks are judged by kept results.

    Args:
        verdicts: of now.
        folder: of the study, with what is kept in MEASURED. The subject of a verdict from there names the GPU too.
        others: verdicts on such machines that the study has made of measurements which it keeps itself.
    """
    lacking = [each for each in verdicts if each.verdict == NOT_TESTABLE and each.claim.hardware == "gpu"]
    claims = {(each.claim.id, each.claim.metric): each.claim for each in lacking}
    found = list(others)
    for path in sorted((folder / MEASURED).glob("*/claims.json")):
        contents = read_kept(path)
        device = ", ".join(sorted({gpu for machine in contents["hardware"] for gpu in machine.get("gpus", [])}))
        origin = remark_on(device, contents["date"], contents["command"], contents.get("recorders", []))
        for (name, metric, needed, subject), measured in kept_measurements(path, on_gpu=True):
            if device and needed == "gpu" and (name, metric) in claims:
                is_provisional = contents["budget"] != "paper"
                where = f"{subject}, {device}"
                judged = judge_one(claims[name, metric], where, {metric: measured}, "gpu", is_provisional)
                found.append(replace(judged, remark="; ".join(filter(None, [judged.remark, origin]))))
    tested = {(each.claim.id, each.claim.metric) for each in found}
    stay = [
        replace(each, remark=f"{each.remark}; {NONE_KEPT}") if each in lacking else each
        for each in verdicts
        if each not in lacking or (each.claim.id, each.claim.metric) not in tested
    ]
    return stay + found


def contradicted_claims(verdicts: Sequence[Verdict]) -> list[str]:
    """Return a sentence for each claim that differs where as much was run as was published; calculations are none."""
    return [
        f"{each.claim.id} ({each.subject}) differs, with as much run as published: {each.claim.statement}. It holds if "
        f"{each.claim.metric} is {each.claim.condition}: {each.measured_text} now"
        for each in verdicts
        if each.verdict == DIFFERS and not each.provisional and not each.is_calculated
    ]


def key_of(verdict: Verdict) -> Key:
    """Return what makes two verdicts be about the same."""
    return verdict.claim.id, verdict.claim.metric, verdict.claim.hardware, verdict.subject


def has_gpu(hardware: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether any of the machines has one."""
    return any("gpus" in machine for machine in hardware)


def kept_measurements(path: Path, on_gpu: bool) -> Iterator[tuple[Key, Estimate]]:
    """Yield the measurements in a claims.json that can be compared with runs of now.

    Claims for any hardware can be where the machine was of the same kind. Claims for a GPU always can be: without one
    they are judged by the results of a machine that the subject names.

    Args:
        path: of the file.
        on_gpu: whether the runs of now were executed on a machine with a GPU.

    Raises:
        UsageError: It is damaged.
    """
    contents = read_kept(path)
    try:
        is_alike = has_gpu(contents["hardware"]) == on_gpu
        for entry in [*contents["claims"], *contents["calculated"]]:
            claim = entry["claim"]
            if entry["measured"] and (is_alike or claim["hardware"] == "gpu"):
                key = (claim["id"], claim["metric"], claim["hardware"], entry["subject"])
                yield key, Estimate(**entry["measured"])
    except (TypeError, KeyError) as error:
        raise damaged(path, error) from error


def verdicts_in(contents: Mapping[str, Any], path: Path) -> list[Verdict]:
    """Return the verdicts of a claims.json with these contents.

    Raises:
        UsageError: It is damaged.
    """
    try:
        return [
            Verdict(**entry | {"claim": Claim(**entry["claim"]), "measured": measured and Estimate(**measured)})
            for entry in [*contents["claims"], *contents["calculated"]]
            for measured in [entry["measured"]]
        ]
    except (TypeError, KeyError) as error:
        raise damaged(path, error) from error


def read_kept(path: Path) -> dict[str, Any]:
    """Return a claims.json.

    Raises:
        UsageError: It is damaged.
    """
    try:
        contents: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise damaged(path, error) from error
    return contents


def damaged(path: Path, error: Exception) -> UsageError:
    """Return what to tell the user about a claims.json that cannot be read."""
    return UsageError(f"{path}: expected the claims.json of a study, found: {error!r}. Restore the file, or remove it")
