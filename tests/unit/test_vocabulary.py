"""Whoever adds a category, a stage, a resource or a part of a run is told what it still lacks."""

import re
from enum import Enum
from pathlib import Path

import pytest

from rlscope.analysis.account.kinds import Bound
from rlscope.analysis.contents import ContentsProcess
from rlscope.analysis.devices.idle import IdleCause
from rlscope.analysis.live.live_rows import LiveProcess
from rlscope.model import (
    CALL_CATEGORIES,
    CATEGORIES,
    GPU_ONLY,
    STAGES,
    Category,
    LoopPart,
    Name,
    Purpose,
    Resource,
    Stage,
)
from rlscope.record.config import LAYERS

ROOT = Path(__file__).resolve().parents[2]
FORMAT, SWEPT = "src/core/format/vocabulary.h", "src/analysis/tables/sweep_result.h"
VOCABULARY = (ROOT / "docs/vocabulary.md").read_text()
#: What pages have colours for.
COLOURS = {*CATEGORIES, GPU_ONLY}
PUBLISHED_STAGES = {"simulation", "inference", "backpropagation"}


def of_native(enumeration: str, header: str) -> list[tuple[str, str]]:
    """The members of an enumeration in C++ as Python spells them, each with its label, by their numbers."""
    text = re.sub(r"//.*", "", (ROOT / header).read_text())
    members = re.search(rf"enum class {enumeration} : \w+ \{{(.*?)\}}", text, re.DOTALL)
    labels = re.search(rf"k{enumeration}(?:Labels|Columns)\[\] = \{{(.*?)\}};", text, re.DOTALL)
    assert members and labels
    names = [re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper() for name in re.findall(r"\bk(\w+)", members[1])]
    found = re.findall(r'\{"([^"]+)"' if "Columns" in labels[0] else r'"([^"]+)"', labels[1])
    # Python has one member for all threads without a core; where they would run is a column.
    return [pair for pair in zip(names, found, strict=True) if not pair[0].startswith("NO_CORE_IN_")]


NATIVE: dict[type[Enum], tuple[str, list[tuple[str, str]]]] = {
    Category: (FORMAT, of_native("Category", FORMAT)),
    Stage: (FORMAT, of_native("Stage", FORMAT)),
    Resource: (SWEPT, of_native("Resource", SWEPT)),
    LoopPart: (SWEPT, of_native("LoopPart", SWEPT)),
}
MEMBERS: list[Enum] = [member for enumeration in NATIVE for member in enumeration]


def told(kind: type[Enum]) -> set[str]:
    return {member.value for member in kind}


def lacks(member: Enum) -> dict[str, bool]:
    """What a member of the vocabulary needs, and whether it lacks that."""
    header, native = NATIVE[type(member)]
    place = [*type(member)].index(member)
    label = member.label if isinstance(member, Category) else member.value
    needed = {f"its place and label in {header}": native[place : place + 1] != [(member.name, label)]}
    if isinstance(member, Category):
        words = re.search(r"\| category \| .*?: (.*) \|", VOCABULARY)
        needed |= {
            "a hatch that no other has": [each.hatch for each in CATEGORIES.values()].count(member.hatch) != 1,
            "a letter that no other has": [each.letter for each in CATEGORIES.values()].count(member.letter) != 1,
            "colours such as #142858": not all(
                re.fullmatch("#[0-9a-f]{6}", each) for each in (member.light, member.dark)
            ),
            "a category that published figures have": member.published not in CATEGORIES,
            "a bound of rlscope/analysis/account/kinds.py": member.bound not in told(Bound),
            "a cause of rlscope/analysis/devices/idle.py": member.idle_cause not in told(IdleCause),
            "a column of rlscope/analysis/contents.py": member.label in CALL_CATEGORIES
            and member.label not in ContentsProcess.columns(),
            "a column of rlscope/analysis/live/live_rows.py": f"{member.label}_s" not in LiveProcess.columns(),
            "a place in the list of categories in docs/vocabulary.md": not words
            or member.label not in words[1].split(", "),
        }
    if isinstance(member, Stage):
        needed |= {
            "a stage that published figures have": member.published not in {*PUBLISHED_STAGES, ""},
            "a colour of a page": member.colour not in COLOURS,
            "a cause of rlscope/analysis/devices/idle.py": member.idle_cause not in {*told(IdleCause), ""},
            "a row in docs/vocabulary.md": member.value not in ("(none)", "training_loop")
            and f"\n| {member.value} | " not in VOCABULARY,
        }
    if isinstance(member, Resource):
        needed["a resource that published figures have"] = member.published not in {*told(Resource), ""}
    return needed


@pytest.mark.parametrize("member", MEMBERS, ids=str)
def test_each_member_has_everything(member: Enum) -> None:
    missing = [what for what, is_missing in lacks(member).items() if is_missing]
    assert not missing, f"{member!r} lacks {'; '.join(missing)}"


@pytest.mark.parametrize("enumeration", NATIVE, ids=lambda each: each.__name__)
def test_the_headers_have_no_more(enumeration: type[Enum]) -> None:
    header, native = NATIVE[enumeration]
    assert [name for name, _ in native] == [member.name for member in enumeration], header


def test_purposes_of_operations_are_those_of_the_header() -> None:
    native = of_native("Purpose", FORMAT)
    operations = list(Purpose)[: len(native)]
    assert [(purpose.name, purpose.value) for purpose in operations] == native
    column_names = ("interrupts", "leaves_stage", "shows_loop", "comes_anywhere")
    columns = re.findall(
        r'\{"(\w+)", (true|false), (true|false), (true|false), (true|false)\}', (ROOT / FORMAT).read_text()
    )
    assert columns == [
        (purpose.value, *(str(getattr(purpose, column)).lower() for column in column_names)) for purpose in operations
    ]


@pytest.mark.parametrize("purpose", Purpose, ids=str)
def test_each_purpose_has_everything(purpose: Purpose) -> None:
    assert purpose.value not in STAGES
    assert purpose is Purpose.UNPLACED or f"`{purpose.value}`" in VOCABULARY
    assert [each.words for each in Purpose].count(purpose.words) == 1
    for colour in (purpose.light, purpose.dark):
        assert re.fullmatch("#[0-9a-f]{6}", colour)


def test_what_can_be_recorded_are_categories() -> None:
    assert set(LAYERS) <= CATEGORIES.keys()


def test_a_member_without_all_columns_says_which() -> None:
    with pytest.raises(TypeError, match="Half 'a' lacks colour, place"):

        class Half(Name):
            words: str
            colour: str
            place: int

            A = "a", "words"
