"""This file writes, as structs in C++, the named tuples in Python that declare what C++ finds, and its lists of them.

python cmake/swept_rows.py swept_rows.h FILE.py…
"""

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

HEAD = """// Written by cmake/swept_rows.py of the classes in Python, which say what the fields mean.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "row_types.h"

namespace rlscope {
"""
STRUCT = """
struct {name} {{
{members}
  static constexpr PythonClass kPython{{"{module}", "{name}", "{names}"}};
  auto fields() const {{ return std::tie({fields}); }}
}};
"""
#: The data class that has all that is found of a process. Its lists of named tuples are one struct.
FOUND = "Swept"
LISTS = """
struct {name}Rows {{
{members}
  // Gives each list with its name.
  template <class Take>
  void each(Take take) const {{
{calls}
  }}
}};
"""


class Declarations:
    """The structs of the classes that were read so far, in order; files come after those that they import from."""

    def __init__(self) -> None:
        #: In C++, by the names that stand for them in Python.
        self.types = {"bool": "bool"}
        self.structs: list[str] = []

    def read(self, module: str, source: str) -> None:
        """Add what a module declares.

        Raises:
            ValueError: a class has a field of which the type in C++ is known, and one of which it is not.
        """
        for statement in ast.parse(source).body:
            match statement:
                case ast.Assign([ast.Name(name)], ast.Subscript(ast.Name("Annotated"), ast.Tuple([_, cpp]))):
                    self.types[name] = ast.literal_eval(cpp)
                case ast.ClassDef(name, [ast.Name("NamedTuple")]):
                    fields = [each for each in statement.body if isinstance(each, ast.AnnAssign)]
                    if any(self._is_declared(field.annotation) for field in fields):
                        self.structs.append(self._struct(module, name, fields))
                        self.types[name] = name
                case ast.ClassDef(name) if name == FOUND:
                    self.structs.append(self._lists(statement))

    def header(self) -> str:
        """Return the file in C++."""
        return f"{HEAD}{''.join(self.structs)}\n}}  // namespace rlscope\n"

    def _is_declared(self, annotation: ast.expr) -> bool:
        names = (node.id for node in ast.walk(annotation) if isinstance(node, ast.Name))
        return any(name != "bool" and name in self.types for name in names)

    def _struct(self, module: str, name: str, fields: "list[ast.AnnAssign]") -> str:
        types = {ast.unparse(field.target): self._type(f"{module}.{name}", field.annotation) for field in fields}
        members = "\n".join(f"  {found} {field}{{}};" for field, found in types.items())
        return STRUCT.format(module=module, name=name, members=members, names=" ".join(types), fields=", ".join(types))

    def _lists(self, declared: ast.ClassDef) -> str:
        fields = [each for each in declared.body if isinstance(each, ast.AnnAssign)]
        lists = {
            ast.unparse(field.target): self._type(declared.name, field.annotation)
            for field in fields
            if ast.unparse(field.annotation).startswith("list[")
        }
        members = "\n".join(f"  {found} {field}{{}};" for field, found in lists.items())
        calls = "\n".join(f'    take("{field}", {field});' for field in lists)
        return LISTS.format(name=declared.name, members=members, calls=calls)

    def _type(self, where: str, annotation: ast.expr) -> str:
        match annotation:
            case ast.Name(name) if name in self.types:
                return self.types[name]
            case ast.BinOp(item, ast.BitOr(), ast.Constant(None)):
                return f"std::optional<{self._type(where, item)}>"
            case ast.Subscript(ast.Name("list"), ast.Name(item)) if self.types.get(item) == item != "bool":
                return f"std::vector<{item}>"
            case ast.Subscript(ast.Name("dict"), ast.Tuple([key, item])):
                return f"std::map<{self._type(where, key)}, {self._type(where, item)}>"
        raise ValueError(
            f"{where}: a type of swept_types.py, a class above, or a list, a dict or None of these was expected, "
            f"found {ast.unparse(annotation)}"
        )


def modules_of(files: "Iterable[str]") -> "Iterator[tuple[str, str]]":
    """Yield the name and the source of each module, swept_types first."""
    for file in sorted(files, key=lambda file: (Path(file).stem != "swept_types", file)):
        yield ".".join(Path(file).with_suffix("").parts), Path(file).read_text()


def write(header: Path, files: "Iterable[str]") -> None:
    """Write the header, unless it is there already, so that nothing is compiled anew without need."""
    declarations = Declarations()
    for module, source in modules_of(files):
        declarations.read(module, source)
    if not header.exists() or header.read_text() != declarations.header():
        header.parent.mkdir(parents=True, exist_ok=True)
        header.write_text(declarations.header())


if __name__ == "__main__":
    try:
        write(Path(sys.argv[1]), sys.argv[2:])
    except ValueError as error:
        sys.exit(str(error))
