"""This file makes the JSON Schema of a study's claims.json."""

from experiments.harness.provenance import Provenance
from experiments.verdicts.claims import SCHEMA, Verdict
from rlscope.export.json_schema import Schema, Schemas, whole


def claims_schema() -> Schema:
    """Return the schema of what `write_claims` writes. A later version may have more properties."""
    schemas = Schemas()
    found = schemas.object(Provenance)
    verdicts = {"type": "array", "items": schemas.of(Verdict)}
    found["properties"] |= {"schema": {"const": SCHEMA}, "claims": verdicts, "calculated": verdicts}
    found["required"] += ["claims", "calculated"]
    found["required"].remove("recorders")  # older files have none
    return whole(f"claims.json of a case study, schema {SCHEMA}", found, schemas)
