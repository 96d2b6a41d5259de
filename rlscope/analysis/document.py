"""This file makes the document of `analyze --json`: all that is known of a trace."""

from dataclasses import asdict, is_dataclass
from typing import Any

from rlscope.analysis.account.findings import findings
from rlscope.analysis.account.words import account_sentences
from rlscope.analysis.analysis import Analysis
from rlscope.analysis.table import Table

SCHEMA = 1


def document_of(analysis: Analysis) -> dict[str, object]:
    """Return the document of `analyze --json`, schema 1."""
    found: dict[str, object] = {"schema": SCHEMA}
    for name, member in analysis.members().items():
        if member.in_document and (not member.beside or getattr(analysis, member.beside)):
            value = getattr(analysis, name)
            found[name] = _records(member, value) if isinstance(member, Table) else _plain(value)
    found["advice"] = {"text": "\n".join([*account_sentences(analysis), *findings(analysis)])}
    return found


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
