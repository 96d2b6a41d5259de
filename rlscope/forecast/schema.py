"""This file makes the JSON Schema of what `rlscope forecast --json` prints."""

from rlscope.export.json_schema import Schema, Schemas, whole
from rlscope.forecast.document import SCHEMA, ForecastDocument


def forecast_schema() -> Schema:
    """Return the schema of the document. A later version may have more properties."""
    schemas = Schemas()
    found = schemas.object(ForecastDocument)
    found["properties"]["schema"] = {"const": SCHEMA}
    return whole(f"rlscope forecast --json, schema {SCHEMA}", found, schemas)
