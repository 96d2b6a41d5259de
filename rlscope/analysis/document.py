"""This file makes the document of `analyze --json`: all that is known of a trace."""

from dataclasses import asdict, is_dataclass
from typing import Any

from rlscope.analysis.account.observations import observations
from rlscope.analysis.account.words import account_sentence
from rlscope.analysis.analysis import Analysis
from rlscope.analysis.table import Table
from rlscope.rules.rule import finding_text

SCHEMA = 1


def document_of(analysis: Analysis) -> dict[str, object]:
    """Return the document of `analyze --json`, schema 1."""
    found: dict[str, object] = {"schema": SCHEMA}
    for name, member in analysis.members().items():
        if member.in_document and (not member.beside or getattr(analysis, member.beside)):
            value = getattr(analysis, name)
            found[name] = _records(member, value) if isinstance(member, Table) else _plain(value)
    stuck = [f"Stuck: {analysis.hang.sentence}."] if analysis.hang is not None else []
    found["advice"] = {"text": "\n".join([*stuck, *account_sentences(analysis), *observations(analysis)])}
    return found


def account_sentences(analysis: Analysis) -> list[str]:
    """Say where the time of the process that paces the run went, and what would make it faster."""
    said = account_sentence(analysis)
    sentences = [f"Where the time went: {said}."] if said else []
    if analysis.findings:
        sentences.append(f"What would make it faster: {'; or '.join(map(finding_text, analysis.findings))}.")
    return sentences


def _records(table: Table[Any, Any], rows: Any) -> list[dict[str, object]]:
    records: list[dict[str, object]] = rows.records()
    for column in table.left_out:
        for row in records:
            del row[column]
    return records


def _plain(fact: Any) -> object:
    if is_dataclass(fact) and not isinstance(fact, type):
        return asdict(fact)
    return list(fact) if isinstance(fact, tuple) else fact
