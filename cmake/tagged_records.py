"""This file writes, as structs in C++, the records with a tag that `rlscope/trace/format.py` declares.

python cmake/tagged_records.py tagged_records.h
"""

import ast
import sys
from pathlib import Path

FORMAT, VERSION = Path("rlscope/trace/format.py"), Path("rlscope/version.py")
HEAD = """// Written by cmake/tagged_records.py of OtherTag in rlscope/trace/format.py, which says what numbers mean.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace rlscope {{

constexpr uint32_t kFormatVersion = {version};

enum OtherTag : uint32_t {{ {tags} }};

// By tag, how many numbers follow it; none has 0.
constexpr uint8_t kNumbersOfTag[] = {{{counts}}};
inline constexpr size_t kMostNumbersOfTag = {most};
"""
STRUCT = """
struct {name}Numbers {{
  static constexpr OtherTag kTag = k{name};
  uint64_t {members};
  std::array<uint64_t, {count}> values() const {{ return {{{values}}}; }}
  static {name}Numbers from(const uint64_t* stored) {{ return {{{stored}}}; }}
}};
"""


def header(format_source: str, version_source: str) -> str:
    """Return the file in C++.

    Raises:
        ValueError: a tag is declared otherwise than as a number and the names of those that follow it.
    """
    classes = {each.name: each for each in ast.parse(format_source).body if isinstance(each, ast.ClassDef)}
    declared: dict[str, tuple[int, list[str]]] = {}
    for statement in classes["OtherTag"].body:
        if not isinstance(statement, ast.Assign):
            continue
        found = ast.literal_eval(statement.value)
        match found:
            case (int(tag), str(first), *others):
                name = ast.unparse(statement.targets[0])
                declared["".join(word.capitalize() for word in name.split("_"))] = tag, [first, *others]
            case _:
                raise ValueError(f"OtherTag: a tag and the names of its numbers were expected, found {found!r}")
    counts = {tag: len(names) for tag, names in declared.values()}
    (version,) = (
        ast.literal_eval(each.value)
        for each in ast.parse(version_source).body
        if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "FORMAT_VERSION"
    )
    structs = (
        STRUCT.format(
            name=name,
            members=" = 0, ".join(names) + " = 0",
            count=len(names),
            values=", ".join(names),
            stored=", ".join(f"stored[{place}] - 1" for place in range(len(names))),
        )
        for name, (_, names) in declared.items()
    )
    head = HEAD.format(
        version=version,
        tags=", ".join(f"k{name} = {tag}" for name, (tag, _) in declared.items()),
        counts=", ".join(str(counts.get(tag, 0)) for tag in range(max(counts) + 1)),
        most=max(counts.values()),
    )
    return f"{head}{''.join(structs)}\n}}  // namespace rlscope\n"


def write(path: Path) -> None:
    """Write the header, unless it is there already, so that nothing is compiled anew without need."""
    text = header(FORMAT.read_text(), VERSION.read_text())
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    try:
        write(Path(sys.argv[1]))
    except ValueError as error:
        sys.exit(str(error))
