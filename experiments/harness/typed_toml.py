"""This file reads TOML as frozen dataclasses: an unknown or missing key, or a wrong type, is an error in one line."""

from collections.abc import Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import tomllib

from rlscope.errors import UsageError

#: In the metadata of a field: its key in the file, where that is not the field's name.
KEY = "key"

Parsed = TypeVar("Parsed")


def read_toml(path: Path) -> dict[str, Any]:
    """Return the contents of a TOML file.

    Raises:
        UsageError: It cannot be read.
    """
    try:
        contents: dict[str, Any] = tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path}: expected a readable TOML file: {error}") from error
    return contents


def parsed(kind: type[Parsed], table: dict[str, Any], where: str) -> Parsed:
    """Return a table of a TOML file as a dataclass, whose fields are the keys that the table may have.

    Args:
        kind: the dataclass. Its fields are texts, numbers, truth values, other such dataclasses, and tuples of these.
        table: as `tomllib` has it.
        where: names the file and the table's place in it, for errors.

    Raises:
        UsageError: A key is not known, a field without a default has no key, or a value has another type.
    """
    types = get_type_hints(kind)
    known: dict[str, Field[Any]] = {each.metadata.get(KEY, each.name): each for each in fields(kind)}  # type: ignore[arg-type]
    for key in table:
        if key not in known:
            raise UsageError(f"{where}: expected a known key{nearest(key, list(known))}, found `{key}`")
    for key, each in known.items():
        if key not in table and each.default is MISSING:
            raise UsageError(f"{where}: expected the key `{key}`, found {', '.join(table) or 'no key at all'}")
    values = {known[key].name: typed(types[known[key].name], value, where, key) for key, value in table.items()}
    return kind(**values)


def typed(expected: Any, value: Any, where: str, key: str) -> Any:
    """Return a value as a field has it: a list as a tuple, a table as a dataclass.

    Raises:
        UsageError: It is of another type.
    """
    if isinstance(expected, UnionType):  # of a type and None, which TOML cannot say
        expected = get_args(expected)[0]
    place = f"{where}: {key}"
    is_list, is_table = get_origin(expected) is tuple, is_dataclass(expected)
    if is_list and isinstance(value, list):
        return tuple(typed(get_args(expected)[0], each, where, name_of(key, each)) for each in value)
    if is_table and isinstance(value, dict):
        return parsed(expected, value, place)
    if type(value) is expected or (expected is float and type(value) is int):
        return value
    name = f"a list of {get_args(expected)[0].__name__}" if is_list else "a table" if is_table else expected.__name__
    raise UsageError(f"{place}: expected {name}, found {value!r}")


def name_of(key: str, element: Any) -> str:
    """Return what an element of a list is called in errors: `workload PPO`, `claim A-13`."""
    names = [element[naming] for naming in ("name", "id") if isinstance(element, dict) and naming in element]
    return f"{key} {names[0]}" if names else key


def nearest(word: str, known: Sequence[str]) -> str:
    """Return, for errors, the known word that is most like another one: " (the nearest is `minutes`)"."""
    found = get_close_matches(word, known, n=1, cutoff=0.0)
    return f" (the nearest is `{found[0]}`)" if found else ""
