"""This file makes the document of `compare --json`."""

from collections.abc import Sequence

from rlscope.analysis.rows import Record
from rlscope.compare.comparable import cautions
from rlscope.compare.comparison import Comparison
from rlscope.compare.counts import CountRow
from rlscope.compare.estimate import CONFIDENCE_PERCENT
from rlscope.compare.gate import Gate
from rlscope.compare.sides import Side
from rlscope.compare.verdict import LEAST_COUNTED, changed_findings, verdict

SCHEMA = 1


def document_of(comparisons: Sequence[Comparison], gate: Gate) -> dict[str, object]:
    """Return the document, schema 1, with what the gate decides."""
    return {
        "schema": SCHEMA,
        "confidence_percent": CONFIDENCE_PERCENT,
        "fail_above_percent": gate.time,
        "fail_above_counts_percent": gate.counts,
        "comparisons": [_comparison(each, gate) for each in comparisons],
    }


def _comparison(found: Comparison, gate: Gate) -> dict[str, object]:
    return {
        "base": _side(found.base),
        "other": _side(found.other),
        "unit": found.base.unit.value,
        "repeated": found.repeated,
        "word": found.word.value,
        "base_s": found.base_s,
        "other_s": found.other_s,
        "change_percent": found.change.value,
        "low_percent": found.change.low,
        "high_percent": found.change.high,
        "corrected_percent": found.corrected_percent,
        "same_percent": found.same_percent,
        "status": gate.status(found) if gate.decides else None,
        "gate": gate.sentences(found),
        "verdict": verdict(found),
        "cautions": cautions(found),
        "findings": changed_findings(found),
        "counts": [_count(row) for row in found.counts if not row.count.name or row.differs_by(LEAST_COUNTED)],
        "rows": part_records(found),
    }


def _count(row: CountRow) -> dict[str, object]:
    base, other = row.means
    return {
        "counted": row.count.counted.value,
        "stage": row.count.stage,
        "name": row.count.name,
        "base": base,
        "other": other,
        "apart": row.is_apart,
    }


def _side(side: Side) -> dict[str, object]:
    return {
        "name": side.name,
        "no_core_share": side.no_core_share,
        "runs": [
            {
                "path": str(run.path),
                "seconds": float(run.lengths.mean()) * side.scale(run),
                "iterations": len(run.lengths),
                "first_iteration_s": run.first_s,
                "timesteps_per_iteration": run.timesteps,
                "no_core_share": run.no_core_share,
            }
            for run in side.runs
        ],
    }


def part_records(found: Comparison) -> list[Record]:
    """Return the parts as rows of a table; seconds are per iteration, or what else the unit is."""
    return [
        {
            "kind": row.part.kind.value,
            "stage": row.part.stage,
            "operation": row.part.operation,
            "category": row.part.category,
            "function": row.part.function,
            "device": row.part.device,
            "cause": row.part.cause,
            "where": found.other.where(row.part.cause) or found.base.where(row.part.cause),
            "base": row.difference.base,
            "other": row.difference.other,
            "difference": row.difference.value,
            "low": row.difference.low,
            "high": row.difference.high,
            "sure": row.difference.is_sure,
        }
        for row in found.rows
    ]
