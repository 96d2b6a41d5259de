"""The JSON Schemas of what programs read: written from the classes, and true of what is written."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from trace_builder import parse_script, write_script

from experiments.verdicts.claims_schema import claims_schema
from rlscope.analysis.rows import Row
from rlscope.cli.analyze import analyze as analyze_verb
from rlscope.export.json_schema import Schemas, document_schema

CHECKOUT = Path(__file__).resolve().parents[2]
GOLDEN = sorted(CHECKOUT.glob("tests/golden/*.trace.txt"))
KEPT = sorted(CHECKOUT.glob("experiments/*/measured/*/claims.json"))


class Edge(Row):
    """Who wakes whom.

    Attributes:
        from_: who
            sleeps.
        seconds: how long; None if unknown.
    """

    from_: str
    seconds: float | None
    tags: tuple[int, ...]


def test_a_row_is_an_object_with_its_columns_and_what_they_mean() -> None:
    assert Schemas().object(Edge, optional=("tags",)) == {
        "type": "object",
        "properties": {
            "from": {"type": "string", "description": "who sleeps."},
            "seconds": {"type": ["number", "null"], "description": "how long; None if unknown."},
            "tags": {"type": "array", "items": {"type": "integer"}},
        },
        "required": ["from", "seconds"],
    }


def test_a_type_that_json_lacks_is_refused() -> None:
    with pytest.raises(TypeError, match="expected a type that JSON has, found <class 'pathlib"):
        Schemas().of(Path)


def test_the_files_are_those_that_the_classes_give() -> None:
    script = runpy.run_path(str(CHECKOUT / "scripts" / "write_docs.py"))
    for path, text in script["texts"]().items():
        assert path.read_text() == text, "run `python scripts/write_docs.py` after a change of what is written"


def document(trace: Path, *options: str) -> dict[str, Any]:
    found = CliRunner().invoke(analyze_verb, [str(trace), "--json", "--recover", *options], catch_exceptions=False)
    loaded: dict[str, Any] = json.loads(found.output)
    return loaded


@pytest.mark.parametrize("options", [(), ("--by", "function"), ("--by", "stage,category")], ids=str)
def test_documents_are_valid_and_have_nothing_unknown(options: tuple[str, ...], tmp_path: Path) -> None:
    schema = document_schema()
    validator = Draft202012Validator(schema)
    for file in GOLDEN:
        write_script(parse_script(file.read_text()), tmp_path / file.name)
        found = document(tmp_path / file.name, *options)
        validator.validate(found)
        assert found.keys() <= schema["properties"].keys()


def test_a_document_that_lacks_a_number_is_not_valid(tmp_path: Path) -> None:
    write_script(parse_script(GOLDEN[0].read_text()), tmp_path / "trace")
    found = document(tmp_path / "trace")
    del found["processes"][0]["end_s"]
    with pytest.raises(ValidationError, match="'end_s' is a required property"):
        Draft202012Validator(document_schema()).validate(found)


@pytest.mark.parametrize("path", KEPT, ids=lambda path: "/".join(path.parts[-4:-1]))
def test_kept_claims_are_valid(path: Path) -> None:
    Draft202012Validator(claims_schema()).validate(json.loads(path.read_text()))
