"""Write the JSON Schemas of docs/schemas/ anew, from the classes that describe what is written."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from experiments.verdicts.claims_schema import claims_schema
from rlscope.export.json_schema import document_schema

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "schemas"
SCHEMAS = {"analyze": document_schema, "claims": claims_schema}


def texts() -> dict[Path, str]:
    """Return what each file is to hold."""
    return {FOLDER / f"{name}.schema.json": json.dumps(make(), indent=1) + "\n" for name, make in SCHEMAS.items()}


if __name__ == "__main__":
    for path, text in texts().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
