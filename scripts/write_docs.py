"""Write anew what the docs say of JSON, tables, records and rules, from the classes and files that define them."""

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from experiments.verdicts.claims_schema import claims_schema
from rlscope.analysis.analysis import Analysis
from rlscope.export.json_schema import document_schema
from rlscope.forecast.schema import forecast_schema
from rlscope.rules.rule import rules
from rlscope.trace.format import OtherTag
from rlscope.trial.schema import try_schema
from rlscope.version import FORMAT_VERSION

DOCS = Path(__file__).resolve().parent.parent / "docs"
SCHEMAS = {"analyze": document_schema, "claims": claims_schema, "forecast": forecast_schema, "try": try_schema}
RULES = DOCS / "rules"
#: What `make rules RECORD=1` has measured.
MEASURED = DOCS.parent / "tests" / "rules" / "measured.json"
RULES_HEAD = """# Rules

A rule looks in the analysis of a trace for one thing that makes training slow, and says what to change. For example:

```
rlscope analyze trace                              # the first screen has the three findings that are worth most
rlscope check trace --fail-on RLS3                 # ends with status 1 where a rule of the kind 3 finds something
rlscope explain RLS202                             # the page of a rule
```

A finding is about an eighth of the training or more. Where a model covers the change, it says what a
[forecast](../forecast.md) does: *each 10th time: 1.8 times as fast (1.7 to 1.9)*. Findings of rules that you do not
want are left out by `--ignore RLS104,RLS2`, or in pyproject.toml:

```
[tool.rlscope]
ignore = ["RLS104"]
```

`rlscope check` prints one line for each finding, `--json` a document, `--github` annotations at the lines of a pull
request. It ends with status 1 where a rule of `--fail-on` finds something, with 2 where a trace cannot be read.

[How well rules name what is slow](measured.md) is measured by programs whose authors had not read their code.
[What rules find in programs as they are](field.md) shows the case studies and published examples of libraries."""
#: Kinds of rules by the first digit of their codes.
KINDS = {
    1: "The machine: cores, other programs, tools",
    2: "Python",
    3: "The loop: evaluation, callbacks, files, environments",
    4: "Processes and messages",
    5: "Networks and optimizers",
    6: "The GPU",
    7: "Compiling",
    8: "Memory",
    9: "Ranks and language models",
}
#: After it, docs/analysis.md lists the tables, up to the next empty line.
BEGIN = "| table | one row per | values |\n|---|---|---|\n"

#: After it, docs/trace-format.md lists the records with a tag, up to the next empty line.
END = "| end | varint `delta << 2 \\| 2` |\n"
#: How it tells the version.
VERSIONS = {
    r"(?<=Format version: \*\*)\d+": FORMAT_VERSION,
    r"(?<=Files of versions 2 to )\d+": FORMAT_VERSION - 1,
    r"(?<=\| format_version \| )\d+": FORMAT_VERSION,
}


def texts() -> dict[Path, str]:
    """Return what each file is to hold."""
    pages = {
        DOCS / "analysis.md": _listing((DOCS / "analysis.md").read_text(), BEGIN, table_list()),
        DOCS / "trace-format.md": _listing(_dated((DOCS / "trace-format.md").read_text()), END, record_list()),
    }
    schemas = {DOCS / "schemas" / f"{name}.schema.json": _json(make()) for name, make in SCHEMAS.items()}
    return schemas | pages | rule_pages()


def rule_pages() -> dict[Path, str]:
    """Return a page for each rule, as `rlscope explain` shows it, and their list."""
    pages = {RULES / f"{rule.code}.md": f"# {rule.code} {rule.name}\n\n{rule.page}" for rule in rules()}
    return pages | {RULES / "index.md": _list_of_rules()}


def _list_of_rules() -> str:
    parts = [RULES_HEAD]
    for digit, kind in KINDS.items():
        rows = [
            f"| [{rule.code}]({rule.code}.md) | {rule.name} | {rule.title} | {_costs(rule.code)} |"
            for rule in rules()
            if rule.code.startswith(f"RLS{digit}")
        ]
        parts.append(
            "\n".join([f"## {kind}\n", "| code | name | what to do | the fault cost |", "|---|---|---|---|", *rows])
        )
    return "\n\n".join(parts) + "\n"


def _costs(code: str) -> str:
    """Say how many times as long programs took with the fault: `2.6 and 3.0 times`; empty if not measured."""
    measured = json.loads(MEASURED.read_text())
    factors = sorted(found["factor"] for program, found in measured.items() if program.startswith(code))
    return f"{' and '.join(f'{factor:.1f}' for factor in factors)} times" if factors else ""


def _listing(page: str, begin: str, listed: str) -> str:
    """Return a page with other lines behind this one, up to the next empty line."""
    before, _, rest = page.partition(begin)
    return before + begin + listed + "\n\n" + rest.partition("\n\n")[2]


def _dated(page: str) -> str:
    for pattern, version in VERSIONS.items():
        page = re.sub(pattern, str(version), page)
    return page


def record_list() -> str:
    """Return one line of Markdown for each record with a tag."""
    return "\n".join(
        f"| {tag.name.lower().replace('_', ' ')} | varint `delta << 2 \\| 3`, varint {tag.value} (the tag), "
        + ", ".join(f"varint {_number(name)} + 1" for name in tag.numbers)
        + " |"
        for tag in OtherTag
    )


def _number(name: str) -> str:
    return "name id" if name in ("operation", "wait") else name


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
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
