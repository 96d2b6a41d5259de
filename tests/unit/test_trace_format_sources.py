"""The format has three homes, C++, Python and its document, which say the same; what one of them forgot is named."""

import re
import runpy
from dataclasses import Field, fields
from enum import EnumMeta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from benchmarks import trace_entries
from rlscope import model, version
from rlscope.trace import format as fmt

ROOT = Path(__file__).resolve().parents[2]
FORMAT = ROOT / "src/core/format"
HEADERS = [FORMAT / f"{name}.h" for name in ("trace_format", "varint", "vocabulary")]
#: With what the build writes of the records that Python declares.
WRITTEN = runpy.run_path(str(ROOT / "cmake/tagged_records.py"))["header"](
    (ROOT / "rlscope/trace/format.py").read_text(), (ROOT / "rlscope/version.py").read_text()
)
HEADER = re.sub(r"//.*", "", "\n".join([WRITTEN, *(header.read_text() for header in HEADERS)]))
DOCUMENT = (ROOT / "docs" / "trace-format.md").read_text()
HOMES: tuple[ModuleType, ...] = (fmt, trace_entries, model, version)
ENUMERATIONS = re.findall(r"\benum (?:class )?(\w+) : \w+ \{(.*?)\};", HEADER, flags=re.DOTALL)
ASSERTED_SIZES = {name: int(size) for name, size in re.findall(r"static_assert\(sizeof\((\w+)\) == (\d+)", HEADER)}
STRUCTS = {
    name: text
    for name, text in re.findall(r"\bstruct (\w+) \{(.*?)\};", HEADER, flags=re.DOTALL)
    if name in ASSERTED_SIZES
}
#: Bytes of C++'s types, and what the document calls them.
TYPES = {
    "char": (1, "bytes"), "uint8_t": (1, "u8"), "uint16_t": (2, "u16"), "uint32_t": (4, "u32"), "int32_t": (4, "i32"),
    "uint64_t": (8, "u64"), "ClockPair": (24, "3 x u64"),
}  # fmt: skip
TYPES |= {name: TYPES[base] for name, base in re.findall(r"\benum (?:class )?(\w+) : (\w+)", HEADER)}


def snake(name: str) -> str:
    """`kNoStream` and `NoStream` are NO_STREAM."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", re.sub(r"^k(?=[A-Z])", "", name)).upper()


def found(name: str) -> Any:
    """What Python has under this name, in whichever home."""
    return next((getattr(home, name) for home in HOMES if hasattr(home, name)), None)


def constants() -> dict[str, Any]:
    """The constants of the headers, by Python's name for them."""
    values: dict[str, Any] = {}
    for name, text in re.findall(
        r"^constexpr [\w:]+ (k\w+)(?:\[\d+\])? = (?!std::size)(.*?);", HEADER, flags=re.MULTILINE
    ):
        if text.startswith("{"):
            values[snake(name)] = "".join(re.findall(r"'(\\?.)'", text)).replace("\\0", "\0").encode()
        else:
            values[snake(name)] = eval(text.replace("ull", "").replace("'", ""))
    return values


def bytes_of_struct(name: str) -> dict[str, tuple[int, int]]:
    """Offset and size of each field, where C++ puts it."""
    places, offset = {}, 0
    for kind, field, count in re.findall(r"^  (\w+) (\w+)(?:\[(\d+)\])?;", STRUCTS[name], flags=re.MULTILINE):
        size = TYPES[kind][0]
        offset += -offset % min(size, 8)
        places[field] = offset, size * int(count or 1)
        offset += places[field][1]
    return places


def bytes_of_class(stored: Any) -> dict[str, tuple[int, int]]:
    """Offset and size of each field, where Python packs it."""

    def size(part: "Field[Any]") -> int:
        code = part.metadata["code"]
        return fmt.struct.calcsize("<" + code) if isinstance(code, str) else fmt.layout(code).size

    places, offset = {}, 0
    for part in fields(stored):
        places[part.name] = offset, size(part)
        offset += size(part)
    return places


def test_constants() -> None:
    written = constants()
    assert {"FORMAT_VERSION", "FILE_MAGIC", "CHUNK_CLOSED", "HOST", "MAX_VARINT_VALUE"} <= written.keys()
    assert {name: found(name) for name in written} == written


# Stages and purposes have a test of their own, and no trace has a turn.
@pytest.mark.parametrize("name", [name for name, _ in ENUMERATIONS if name not in ("Purpose", "Stage", "Turn")])
def test_enumerations(name: str) -> None:
    known = found(name)
    assert isinstance(known, EnumMeta), f"Python has no enumeration {name}"
    written = {snake(member): int(value) for member, value in re.findall(r"(k\w+) = (\d+)", dict(ENUMERATIONS)[name])}
    assert {member.name: member.value for member in known} == written  # type: ignore[var-annotated]


def test_python_has_no_more_than_the_headers() -> None:
    enumerations = {name for name, value in vars(fmt).items() if isinstance(value, EnumMeta) and value.__members__}
    assert enumerations <= {name for name, _ in ENUMERATIONS}
    stored = {
        name for name, value in (vars(fmt) | vars(trace_entries)).items() if hasattr(value, "__dataclass_fields__")
    }
    assert stored == set(STRUCTS)


@pytest.mark.parametrize("name", STRUCTS)
def test_structs(name: str) -> None:
    stored = found(name)
    assert stored is not None, f"Python has no stored dataclass {name}"
    assert bytes_of_class(stored) == bytes_of_struct(name)
    assert fmt.layout(stored).size == ASSERTED_SIZES[name]


def table(heading: str) -> list[list[str]]:
    """The rows of the document's table below a heading, but for its head."""
    rows = re.findall(r"(?:^\|.*\n)+", DOCUMENT.split(f"\n{heading}\n", 1)[1], flags=re.MULTILINE)[0]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows.splitlines()[2:]]


@pytest.mark.parametrize(("heading", "name"), [("### File header", "FileHeader"), ("### Chunk header", "ChunkHeader")])
def test_byte_tables(heading: str, name: str) -> None:
    sizes = {word: size for size, word in TYPES.values()}
    rows = [row for row in table(heading) if row[2] != "open frames"]
    assert {
        field: (int(offset), int(kind.split()[0]) if kind.endswith("bytes") else sizes[kind])
        for offset, kind, field, _ in rows
    } == bytes_of_struct(name)


@pytest.mark.parametrize(
    ("heading", "field", "values"),
    [
        ("### File header", "clock", fmt.ClockKind),
        ("### File header", "end_reason", fmt.EndReason),
        ("### Chunk header", "kind", fmt.ChunkKind),
    ],
)
def test_documented_values(heading: str, field: str, values: EnumMeta) -> None:
    (meaning,) = (row[3] for row in table(heading) if row[2] == field)
    assert [int(number) for number in re.findall(r"(?:^|, )(\d+) ", meaning)] == [member.value for member in values]  # type: ignore[var-annotated]


def test_documented_constants() -> None:
    rows = {row[2]: row[3] for heading in ("### File header", "### Chunk header") for row in table(heading)}
    assert rows["format_version"] == str(version.FORMAT_VERSION)
    assert rows["header_bytes"] == str(fmt.FILE_HEADER_BYTES)
    assert rows["magic"].startswith(f"0x{fmt.CHUNK_MAGIC:08X} ")
    assert f"Format version: **{version.FORMAT_VERSION}**" in DOCUMENT


@pytest.mark.parametrize(
    ("entry", "stored"),
    [
        (fmt.EntryType.NAME, trace_entries.NameEntry),
        (fmt.EntryType.QUEUE, trace_entries.QueueEntry),
        (fmt.EntryType.LAUNCH_SITE, trace_entries.LaunchSite),
        (fmt.EntryType.CODE, trace_entries.CodeEntry),
        (fmt.EntryType.STACK, trace_entries.StackEntry),
    ],
)
def test_documented_entries(entry: fmt.EntryType, stored: Any) -> None:
    rows = dict(table("## Entries in a catalog chunk"))
    titles = {member: f"{member.value} {member.name.lower().replace('_', ' ')}" for member in fmt.EntryType}
    assert list(rows) == list(titles.values())
    without_asides = re.sub(r"\([^()]*\)", "", rows[titles[entry]])
    sizes = {word: size for size, word in TYPES.values()}
    written = [sizes[word] * int(times or 1) for times, word in re.findall(r"(?:(\d+) x )?\b(u\d+)\b", without_asides)]
    assert written == [size for _, size in bytes_of_class(stored).values()]
