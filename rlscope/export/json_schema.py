"""This file makes JSON Schemas of what programs read, from the classes that it is written from."""

import inspect
import re
import types
import typing
from collections.abc import Collection, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from typing import Any

from rlscope.analysis.analysis import Analysis
from rlscope.analysis.document import SCHEMA
from rlscope.analysis.rows import Row, Rows
from rlscope.analysis.table import Fact, Table

Schema = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def meanings_of(described: type) -> dict[str, str]:
    """Return what the docstring of a class says of its attributes; nothing of those that it does not name."""
    _, _, attributes = (inspect.getdoc(described) or "").partition("Attributes:")
    found = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", attributes, flags=re.MULTILINE)
    return {name: " ".join(meaning.split()) for name, meaning in found}


class Schemas:
    """Schemas of types; those of classes are definitions, each written once.

    Attributes:
        definitions: the schemas of classes by name.
    """

    def __init__(self) -> None:
        """Start without a definition."""
        self.definitions: dict[str, Schema] = {}

    def of(self, hint: Any) -> Schema:
        """Return the schema of a type as annotations have it.

        Raises:
            TypeError: JSON has nothing like it.
        """
        if hint in _PLAIN:
            return {"type": _PLAIN[hint]}
        if isinstance(hint, type) and issubclass(hint, Enum):
            return {"enum": [each.value for each in hint]}
        if is_dataclass(hint):
            return self._reference(typing.cast(type, hint))
        origin, parts = typing.get_origin(hint), typing.get_args(hint)
        if origin in (types.UnionType, typing.Union):
            return _any_of([self.of(part) for part in parts])
        if origin is Rows or (origin is not None and issubclass(origin, Iterable) and not issubclass(origin, Mapping)):
            return {"type": "array", "items": self.of(parts[0])}
        if origin is not None and issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.of(parts[1])}
        if hint is Any or hint is object:
            return {}
        raise TypeError(f"expected a type that JSON has, found {hint}")

    def object(self, described: type, left_out: Collection[str] = (), optional: Collection[str] = ()) -> Schema:
        """Return the schema of an object with the fields of a dataclass; older files may lack those with a default."""
        hints, meanings = typing.get_type_hints(described), meanings_of(described)
        properties, required = {}, []
        for field in fields(described):
            name = field.name.rstrip("_") if issubclass(described, Row) else field.name
            if name in left_out:
                continue
            if name not in optional and field.default is MISSING:
                required.append(name)
            meaning = meanings.get(name, meanings.get(field.name))
            properties[name] = self.of(hints[field.name]) | ({"description": meaning} if meaning else {})
        return {"type": "object", "properties": properties, "required": required}

    def _reference(self, described: type) -> Schema:
        name = described.__name__
        if name not in self.definitions:
            self.definitions[name] = {}  # it may hold itself
            self.definitions[name] = self.object(described)
        return {"$ref": f"#/$defs/{name}"}


def _any_of(choices: list[Schema]) -> Schema:
    names = [choice["type"] for choice in choices if choice.keys() == {"type"}]
    return {"type": names} if len(names) == len(choices) else {"anyOf": choices}


def whole(title: str, schema: Schema, schemas: Schemas) -> Schema:
    """Return a schema with its title and all definitions."""
    return {"$schema": DIALECT, "title": title} | schema | {"$defs": schemas.definitions}


def document_schema() -> Schema:
    """Return the schema of what `rlscope analyze --json` prints. A later version may have more properties."""
    schemas = Schemas()
    shown = {name: member for name, member in Analysis.members().items() if member.in_document}
    properties: dict[str, Schema] = {"schema": {"const": SCHEMA}}
    properties |= {name: _of_member(member, schemas) for name, member in shown.items()}
    meaning = "`text`: what `account`, `findings` and observations say, in words."
    properties["advice"] = schemas.of(Mapping[str, str]) | {"description": meaning}
    schemas.definitions["BreakdownRow"]["required"] = ["seconds"]  # of the other columns it has those that `--by` names
    required = [name for name in properties if name not in shown or not shown[name].beside]
    found = {"type": "object", "properties": properties, "required": required}
    return whole(f"rlscope analyze --json, schema {SCHEMA}", found, schemas)


def _of_member(member: Table[Any, Any] | Fact[Any], schemas: Schemas) -> Schema:
    if isinstance(member, Fact):
        hint = typing.get_type_hints(member.find)["return"]
        return schemas.of(hint) | {"description": (inspect.getdoc(member.find) or "").removeprefix("Return ")}
    rows = schemas.of(member.row_class)
    if member.left_out:
        rows = schemas.object(member.row_class, member.left_out)
        del schemas.definitions[member.row_class.__name__]
    return {"type": "array", "items": rows, "description": f"One row per {member.per}: {member.values}."}
