"""This file reads a program's own code: which calls stand on a line of a function, and which loops are around it."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

_LISTS = frozenset({"list", "deque", "collections.deque", "sorted"})
_READERS = frozenset({"cloudpickle.load", "dill.load", "joblib.load", "json.load", "pickle.load", "yaml.safe_load"})
_READING_METHODS = frozenset({"read_bytes", "read_csv", "read_parquet", "read_text"})
#: A longer statement is not shown.
_MOST_SHOWN = 60
_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Delete, ast.Expr, ast.Return)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Call(NamedTuple):
    """A call on a line.

    Attributes:
        name: What is called, from its module on: `numpy.concatenate`; of an object whose type is not known the method
            alone: `.pop`.
        text: The same as the program writes it: `np.concatenate`.
        node: The call.
        targets: What the statement that it is in gives a value to, as the program writes it: `self.rewards`.
    """

    name: str
    text: str
    node: ast.Call
    targets: frozenset[str]


class Loop(NamedTuple):
    """A loop of statements.

    Attributes:
        node: The loop.
        called: The names of all that is called in it, as those of calls.
    """

    node: ast.For | ast.While
    called: frozenset[str]


class Line(NamedTuple):
    """A line of a function.

    Attributes:
        calls: The calls on it.
        nodes: All expressions and statements that begin there.
        loop: The innermost loop of the function that it lies in; None if in none.
        is_in_function: Whether it is not of the module itself.
        statement: The statement that begins there, `rows.append(table.copy())`; empty if it is long, or holds others.
        lists: The names to which the file gives a list or a deque, without what is in front of the last point.
    """

    calls: tuple[Call, ...]
    nodes: tuple[ast.AST, ...]
    loop: Loop | None
    is_in_function: bool
    lists: frozenset[str]
    statement: str

    def first(self, is_wanted: Callable[[Call], bool]) -> str:
        """Return the first call on it that is wanted, as the program writes it; "" of none."""
        return next((call.text for call in self.calls if is_wanted(call)), "")


def called(names: Collection[str]) -> Callable[[Line], str]:
    """Return what says of a line which function of these names is called on it first."""
    return lambda line: line.first(lambda call: call.name in names)


def names_in(*nodes: ast.AST) -> frozenset[str]:
    """Return the names of variables that stand somewhere in code."""
    return frozenset(each.id for node in nodes for each in ast.walk(node) if isinstance(each, ast.Name))


def reads_file(line: Line) -> str:
    """Return what reads a file on a line: `pickle.load`; "" if nothing does."""
    return line.first(lambda call: call.name in _READERS or call.name.rpartition(".")[2] in _READING_METHODS)


def has_weights(call: Call) -> bool:
    """Return whether a call draws with weights, such as `np.random.choice(n, 32, p=p)`, which it adds up first."""
    names = {each.arg for each in call.node.keywords}
    if call.name.endswith(".choice"):
        return "p" in names or len(call.node.args) > 3
    return call.name.endswith(".choices") and ("weights" in names or len(call.node.args) > 1)


class _File:
    """The parsed code of a file."""

    def __init__(self, text: str) -> None:
        self._all = tuple(ast.walk(ast.parse(text)))
        self._lines: dict[int, Line] = {}
        self._loops: dict[int, Loop] = {}
        self._around = {id(inner): outer for outer in self._all for inner in ast.iter_child_nodes(outer)}

    def has(self, function: str, first_line: int) -> bool:
        """Return whether a function begins at a line, or is one without a name: else the file is another by now."""
        name = function.rpartition(".")[2]
        return name.startswith("<") or (name, first_line) in self._begins

    @cached_property
    def _begins(self) -> set[tuple[str, int]]:
        functions = (node for node in self._all if isinstance(node, _FUNCTIONS))
        return {(node.name, min([node.lineno, *(each.lineno for each in node.decorator_list)])) for node in functions}

    def line(self, number: int) -> Line:
        """Return what is on a line, which many stacks pass and many rules ask for."""
        if number not in self._lines:
            self._lines[number] = self._read_line(number)
        return self._lines[number]

    def _read_line(self, number: int) -> Line:
        nodes = tuple(self._nodes.get(number, ()))
        calls = tuple(self._call(node) for node in nodes if isinstance(node, ast.Call))
        loop, function = (self._loop(nodes[0]), self._function(nodes[0])) if nodes else (None, None)
        statements = (ast.unparse(node) for node in nodes if isinstance(node, _SIMPLE) and node.lineno == number)
        statement = next((text for text in statements if len(text) <= _MOST_SHOWN), "")
        return Line(calls, nodes, loop, function is not None, self._lists, statement)

    @cached_property
    def _nodes(self) -> Mapping[int, list[ast.AST]]:
        """Return the nodes by the lines of which Python says that it is in them; those of a call are two."""
        found: dict[int, list[ast.AST]] = defaultdict(list)
        for node in self._all:
            if isinstance(node, ast.expr | ast.stmt):
                ends = node.func.end_lineno if isinstance(node, ast.Call) else None
                for line in {node.lineno, ends or node.lineno}:
                    found[line].append(node)
        return found

    def made(self, names: Collection[str]) -> Iterator[tuple[str, int]]:
        """Yield the function and the line of each call of one of these names, or with one, whatever the module.

        An argument of such a name counts as well, also as the key of a dict that may hold arguments.
        """
        for node in self._all:
            if isinstance(node, ast.Call):
                given = [node.func, *node.args, *(each.value for each in node.keywords)]
                known = {self._name(each).rpartition(".")[2] for each in given} | {each.arg for each in node.keywords}
            elif isinstance(node, ast.Dict):
                known = {str(each.value) for each in node.keys if isinstance(each, ast.Constant)}
            else:
                continue
            if not known.isdisjoint(names):
                yield getattr(self._function(node), "name", "<module>"), node.lineno

    def _loop(self, node: ast.AST) -> Loop | None:
        while (outer := self._around.get(id(node))) is not None and not isinstance(outer, _FUNCTIONS):
            if isinstance(outer, ast.For | ast.While) and node in outer.body:
                if id(outer) not in self._loops:  # which every line of it is in
                    self._loops[id(outer)] = Loop(outer, frozenset(self._called_in(outer.body)))
                return self._loops[id(outer)]
            node = outer
        return None

    def _called_in(self, statements: Collection[ast.stmt]) -> Iterator[str]:
        inside = (node for statement in statements for node in ast.walk(statement))
        return (self._name(node.func) for node in inside if isinstance(node, ast.Call))

    @cached_property
    def _lists(self) -> frozenset[str]:
        found = set()
        for node in self._all:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    pairs = [(target, node.value)]
                    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                        pairs = list(zip(target.elts, node.value.elts, strict=False))
                    found |= {ast.unparse(name).rpartition(".")[2] for name, value in pairs if self._is_list(value)}
        return frozenset(found)

    def _is_list(self, value: ast.expr) -> bool:
        if isinstance(value, ast.Call):
            given = [value.func, *(each.value for each in value.keywords if each.arg == "default_factory")]
            return any(self._name(each) in _LISTS for each in given) or self._name(value.func) == ".tolist"
        return isinstance(value, ast.List | ast.ListComp)

    def _function(self, node: ast.AST | None) -> ast.AST | None:
        while node is not None and not isinstance(node, _FUNCTIONS):
            node = self._around.get(id(node))
        return node

    def _call(self, node: ast.Call) -> Call:
        statement: ast.AST = node
        while not isinstance(statement, ast.stmt):
            statement = self._around[id(statement)]
        given = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        targets = frozenset(ast.unparse(each) for each in given if each is not None)
        return Call(self._name(node.func), ast.unparse(node.func), node, targets)

    def _name(self, function: ast.expr) -> str:
        names: list[str] = []
        while isinstance(function, ast.Attribute):
            names.insert(0, function.attr)
            function = function.value
        if isinstance(function, ast.Name) and (function.id in self._imported or not names):
            return ".".join([self._imported.get(function.id, function.id), *names])
        return f".{names[-1]}" if names else ""

    @cached_property
    def _imported(self) -> Mapping[str, str]:
        """Return what names of the file are of modules, and of what is imported from them."""
        found: dict[str, str] = {}
        for node in self._all:
            if isinstance(node, ast.Import):
                found |= {each.asname or each.name.partition(".")[0]: each.name for each in node.names if each.asname}
                found |= {each.name.partition(".")[0]: each.name.partition(".")[0] for each in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
        return found


class Source:
    """The files of a program, as far as they lie where it was recorded, or below the working folder."""

    def __init__(self, directory: str) -> None:
        """Take the directory in which the run was begun."""
        self._directory = directory
        self._files: dict[str, _File | None] = {}

    def line(self, file: str, function: str, first_line: int, number: int) -> Line | None:
        """Return what is on a line of a function; None where the file is not there, or is another by now."""
        parsed = self._file(file)
        return parsed.line(number) if parsed is not None and parsed.has(function, first_line) else None

    def line_of(self, file: str, number: int) -> Line | None:
        """Return what is on a line of a file; None where it is not there."""
        parsed = self._file(file)
        return parsed.line(number) if parsed is not None else None

    def made(self, file: str, names: Collection[str]) -> Iterator[tuple[str, int]]:
        """Yield the function and the line of each call of one of these names, or with one, in a file."""
        parsed = self._file(file)
        yield from parsed.made(names) if parsed is not None else ()

    def _file(self, file: str) -> _File | None:
        if file not in self._files:
            self._files[file] = self._read(file)
        return self._files[file]

    def _read(self, file: str) -> _File | None:
        here = Path(file)
        if not here.is_file() and here.is_relative_to(self._directory):
            here = here.relative_to(self._directory)
        try:
            return _File(here.read_text(encoding="utf-8"))
        except (OSError, SyntaxError, ValueError):
            return None
