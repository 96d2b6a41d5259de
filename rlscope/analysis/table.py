"""Declares tables and facts of an analysis: each is found once, and all readers know what it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from rlscope.analysis.rows import Rows, RowT
from rlscope.analysis.run import Run

if TYPE_CHECKING:
    from typing_extensions import Self


class Tables:
    """An analysis; a class that derives from this one declares what is in it.

    Attributes:
        run: What it is made from; it has that only until it is made.
        directory: Of the trace.
        utilization: What the machine reported beside it.
    """

    run: Run

    def __init__(self, run: Run) -> None:
        """Find all tables and facts, for a trace may be gone when a reader asks: the window of a running job.

        Args:
            run: A swept trace.

        Raises:
            TraceError: A process file cannot be read.
        """
        self.run = run
        self.directory = run.swept.trace.directory
        self.utilization = run.utilization
        for name in self.members():
            getattr(self, name)
        del self.run

    @classmethod
    def members(cls) -> dict[str, Table[Any, Any] | Fact[Any]]:
        """Return all tables and facts by their names, in the order of the analysis's document."""
        return {
            name: member
            for declaring in reversed(cls.__mro__)
            for name, member in vars(declaring).items()
            if isinstance(member, (Table, Fact))
        }

    @classmethod
    def tables(cls) -> list[Table[Any, Any]]:
        """Return those of them that are tables."""
        return [member for member in cls.members().values() if isinstance(member, Table)]


OwnerT = TypeVar("OwnerT", bound=Tables)
FactT = TypeVar("FactT")


class Table(Generic[OwnerT, RowT]):
    """A table of an analysis: what its rows are, where they come from, and what readers say of it.

    Attributes:
        name: What it is called, everywhere.
        row_class: Its columns.
        per: What a row is for, as a list.
        values: What a row says of it.
        title: What pages call it where they say that it was shortened.
        largest: The column by which rows are large, so that a page can leave out small ones; empty: it holds all rows.
        needs: What the sweep must find in a process or the table is empty: an attribute of `Swept`.
        asked_by: The option of `rlscope analyze` without which the table is empty; empty: none.
        in_document: Whether `--json` has it.
        beside: The document has this table only where that one has rows; empty: in any case, unless nobody asked.
        left_out: Columns that the document does not have.
    """

    name: str

    def __init__(
        self,
        row_class: type[RowT],
        rows: Callable[[Run, OwnerT], Iterable[RowT]],
        *,
        per: str,
        values: str,
        title: str = "",
        largest: str = "",
        needs: str = "",
        asked_by: str = "",
        in_document: bool = True,
        beside: str = "",
        left_out: tuple[str, ...] = (),
    ) -> None:
        """Declare the table; `rows` are found from a run and other tables."""
        self.row_class = row_class
        self._rows = rows
        self.per = per
        self.values = values
        self.title = title
        self.largest = largest
        self.needs = needs
        self.asked_by = asked_by
        self.in_document = in_document
        self.beside = beside
        self.left_out = left_out

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, found: None, owner: type) -> Self: ...

    @overload
    def __get__(self, found: OwnerT, owner: type) -> Rows[RowT]: ...

    def __get__(self, found: OwnerT | None, owner: type) -> Self | Rows[RowT]:
        if found is None:
            return self
        is_empty = self.needs and not found.run.has(self.needs)
        rows = Rows(self.row_class, () if is_empty else self._rows(found.run, found))
        vars(found)[self.name] = rows  # which is looked at before this
        return rows


class Fact(Generic[FactT]):
    """A number or text of an analysis, declared by a method whose docstring says what it means.

    Attributes:
        name: What it is called, everywhere.
        find: Finds it.
        in_document: Whether `--json` has it.
        beside: The document has it only where that table has rows; empty: in any case.
    """

    name: str

    def __init__(self, find: Callable[[Any, Run], FactT], *, in_document: bool = True, beside: str = "") -> None:
        self.find = find
        self.in_document = in_document
        self.beside = beside

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, found: None, owner: type) -> Self: ...

    @overload
    def __get__(self, found: Tables, owner: type) -> FactT: ...

    def __get__(self, found: Tables | None, owner: type) -> Self | FactT:
        if found is None:
            return self
        fact = vars(found)[self.name] = self.find(found, found.run)
        return fact


def fact(*, in_document: bool = True, beside: str = "") -> Callable[[Callable[[Any, Run], FactT]], Fact[FactT]]:
    """Declare a fact of an analysis by the method that finds it from a run."""
    return lambda find: Fact(find, in_document=in_document, beside=beside)
