"""Write anew what the docs say of JSON and tables, from the classes that describe what is written."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from experiments.verdicts.claims_schema import claims_schema
from rlscope.analysis.analysis import Analysis
from rlscope.export.json_schema import document_schema

DOCS = Path(__file__).resolve().parent.parent / "docs"
SCHEMAS = {"analyze": document_schema, "claims": claims_schema}
#: After it, docs/analysis.md lists the tables, up to the next empty line.
BEGIN = "| table | one row per | values |\n|---|---|---|\n"


def texts() -> dict[Path, str]:
    """Return what each file is to hold."""
    page = DOCS / "analysis.md"
    before, begin, rest = page.read_text().partition(BEGIN)
    _, end, after = rest.partition("\n\n")
    schemas = {DOCS / "schemas" / f"{name}.schema.json": _json(make()) for name, make in SCHEMAS.items()}
    return schemas | {page: before + begin + table_list() + end + after}


def table_list() -> str:
    """Return one line of Markdown for each table of an analysis."""
    return "\n".join(
        f"| {table.name}{_asked_by(table.asked_by, table.in_document)} | {table.per} | {table.values} |"
        for table in Analysis.tables()
    )


def _asked_by(option: str, is_in_document: bool) -> str:
    return f" (`{option}`)" if option else "" if is_in_document else " (Python only)"


def _json(schema: object) -> str:
    return json.dumps(schema, indent=1) + "\n"


if __name__ == "__main__":
    for path, text in texts().items():
        path.write_text(text)
