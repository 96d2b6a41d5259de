"""This file makes the JSON Schema of what `rlscope try --json` prints."""

from rlscope.export.json_schema import Schema, Schemas, whole
from rlscope.trial.document import SCHEMA, TryDocument


def try_schema() -> Schema:
    """Return the schema of the document. A later version may have more properties."""
    schemas = Schemas()
    found = schemas.object(TryDocument)
    found["properties"]["schema"] = {"const": SCHEMA}
    return whole(f"rlscope try --json, schema {SCHEMA}", found, schemas)
