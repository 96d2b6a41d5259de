"""This file holds rows with named fields, and makes a pandas table only when asked: pandas takes long to import."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    import pandas as pd
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: bool) -> Callable[[type], type]:
        """Tell type checkers, which see another one, that classes of a type are dataclasses."""
        return lambda made: made


#: What a cell holds; None is not known.
Value = str | int | float | bool | None
#: A row by the names of its columns.
Record = dict[str, Value]
#: The kinds of columns in a table by the types of fields; texts are as pandas takes them.
_DTYPES = {
    "int": "int64",
    "float": "float64",
    "bool": "bool",
    "int | None": "Int64",
    "float | None": "float64",
    "str | None": "object",
}


@dataclass_transform(frozen_default=True, eq_default=False)
class RowType(type):
    """Makes classes of rows, with slots, which become frozen dataclasses when they are first used.

    That takes half a millisecond each. Every command imports all of them, and few of them have rows in a run.
    """

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> RowType:
        """Make a class of rows whose fields have slots; their defaults wait until it is used."""
        columns = namespace.get("__annotations__", {})
        namespace["_defaults"] = {column: namespace.pop(column) for column in columns if column in namespace}
        namespace["__slots__"] = tuple(columns)
        return super().__new__(cls, name, bases, namespace)

    def __getattr__(cls, name: str) -> Any:
        """Make it a dataclass where it is asked for what those have."""
        if name != "__dataclass_fields__" or cls.__base__ is object:
            raise AttributeError(name)
        slots = {column: cls.__dict__[column] for column in cls.__dict__["_defaults"]}
        for column, default in cls.__dict__["_defaults"].items():
            setattr(cls, column, default)
        made: type = cls
        dataclass(frozen=True, eq=False, repr=False)(made)
        for column, slot in slots.items():
            setattr(cls, column, slot)
        return cls.__dict__[name]


class Row(metaclass=RowType):
    """A row of an analysis. Each field is a column; `from_` is called `from` there, which is a word of Python.

    Rows of one class are equal when their fields are.
    """

    def __init__(self, *cells: Any, **named: Any) -> None:
        """Make the first row of a class: from then on the class has a method of its own for that."""
        fields(type(self))
        type(self).__init__(self, *cells, **named)

    def __reduce__(self) -> tuple[type[Row], tuple[Value, ...]]:
        """Give pickle what makes the same row."""
        return type(self), self.values()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row) or type(other) is not type(self):
            return NotImplemented
        return self.values() == other.values()

    def __hash__(self) -> int:
        return hash(self.values())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.record().items())})"

    def values(self) -> tuple[Value, ...]:
        """Return the cells in the order of the columns."""
        return tuple(getattr(self, field.name) for field in fields(self))

    @classmethod
    def columns(cls) -> tuple[str, ...]:
        """Return the names of the columns."""
        return tuple(field.name.rstrip("_") for field in fields(cls))

    def record(self) -> Record:
        """Return the row by the names of its columns."""
        return {field.name.rstrip("_"): getattr(self, field.name) for field in fields(self)}


RowT = TypeVar("RowT", bound=Row)
Key = TypeVar("Key", bound=Hashable)


class Rows(tuple[RowT, ...], Generic[RowT]):
    """The rows of one class, in order.

    Attributes:
        row_class: The class, which an empty table has its columns from.
    """

    row_class: type[RowT]

    def __new__(cls, row_class: type[RowT], rows: Iterable[RowT] = ()) -> Rows[RowT]:
        """Make rows of `row_class`."""
        found = super().__new__(cls, rows)
        found.row_class = row_class
        return found

    @cached_property
    def table(self) -> pd.DataFrame:
        """Return the rows as a table, which is not to be changed in place; numbers that are not known are NaN or NA."""
        import pandas as pd

        columns = {field.name: [getattr(row, field.name) for row in self] for field in fields(self.row_class)}
        dtypes = {field.name: _DTYPES.get(str(field.type)) for field in fields(self.row_class)}
        return pd.DataFrame(
            {name.rstrip("_"): pd.Series(values, dtype=dtypes[name]) for name, values in columns.items()}
        )

    def records(self) -> list[Record]:
        """Return each row by the names of its columns, as JSON has it."""
        names = [(field.name, field.name.rstrip("_")) for field in fields(self.row_class)]
        return [{column: getattr(row, name) for name, column in names} for row in self]


def sums(parts: Iterable[tuple[Key, float]]) -> dict[Key, float]:
    """Return the sum of the numbers of each key, in the order in which keys first come; each is rounded once."""
    found: dict[Key, list[float]] = {}
    for key, value in parts:
        found.setdefault(key, []).append(value)
    return {key: math.fsum(values) for key, values in found.items()}


def all_records(tables: Iterable[tuple[str, Iterable[Record]]]) -> list[Record]:
    """Join tables into one, whose first column `trace` says which one a row is of; cells that one lacks are None.

    Args:
        tables: the name of each, and its rows.
    """
    joined: list[Record] = [{"trace": name, **row} for name, rows in tables for row in rows]
    columns = dict.fromkeys(column for row in joined for column in row)
    return [{column: row.get(column) for column in columns} for row in joined]
