"""A class shows in its `__dict__` what the program has put there, although an inherited method is hooked in it."""

import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import pytest

from rlscope import _analysis, _native
from rlscope.record.declared.hooks import Hooks
from rlscope.record.declared.kinds import MethodHook


class Steps:
    def step(self) -> str:
        return "stepped"


class Mixed(Steps):
    """Inherits `step`."""

    number = 3


class Below(Mixed):
    pass


MODULE = types.ModuleType("mixed")
MODULE.__dict__.update(Mixed=Mixed)


@pytest.fixture
def hooks() -> Iterator[Hooks]:
    hooks = Hooks()
    hooks.apply(MethodHook("mixed", "Mixed", "step", ("simulation",)), MODULE)
    assert "step" in _native.names_of(Mixed)
    yield hooks
    hooks.restore()


LOOKS: dict[str, Callable[[Any], Any]] = {
    "type": type,
    "repr": repr,
    "length": len,
    "order": list,
    "reversed": lambda names: list(reversed(names)),
    "keys": lambda names: list(names.keys()),
    "values": lambda names: list(names.values()),
    "items": lambda names: list(names.items()),
    "copy": lambda names: names.copy(),
    "as a dictionary": dict,
    "item": lambda names: names["number"],
    "get": lambda names: (names.get("number"), names.get("step"), names.get("step", 7)),
    "contains": lambda names: ("number" in names, "step" in names, 7 in names),
    "union": lambda names: (names | {"more": 1}, {"number": 1} | names, {} | names),
    "equality": lambda names: (names == dict(names), names != dict(names), names == {}),
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_it_is_like_any_other(look: Callable[[Any], Any], hooks: Hooks) -> None:
    recorded = look(Mixed.__dict__)
    hooks.restore()
    assert recorded == look(Mixed.__dict__)


def test_its_errors_are_those_of_any_other(hooks: Hooks) -> None:
    for name in ("step", "nothing"):
        with pytest.raises(KeyError, match=f"^'{name}'$"):
            Mixed.__dict__[name]
    with pytest.raises(TypeError, match="unhashable"):
        Mixed.__dict__[[]]  # type: ignore[index]
    with pytest.raises(TypeError, match="unhashable"):
        hash(Mixed.__dict__)


def test_it_follows_changes(hooks: Hooks) -> None:
    names = vars(Mixed)
    Mixed.more = 1  # type: ignore[attr-defined]
    assert names["more"] == 1
    del Mixed.more  # type: ignore[attr-defined]
    assert "more" not in names


def test_a_method_is_found_where_the_program_has_it(hooks: Hooks) -> None:
    for cls in (Mixed, Below):
        assert inspect.getattr_static(cls, "step") is vars(Steps)["step"]
        (attribute,) = (each for each in inspect.classify_class_attrs(cls) if each.name == "step")
        assert (attribute.defining_class, attribute.object) == (Steps, vars(Steps)["step"])


def test_a_class_made_of_the_names_of_another_has_no_more_than_these(hooks: Hooks) -> None:
    again = type("Again", (Steps,), dict(vars(Mixed)))
    assert again().step() == "stepped"


def test_the_method_is_recorded_all_the_same(in_process: Callable[[], Any], hooks: Hooks) -> None:
    assert Mixed().step() == Below().step() == "stepped"
    with mock.patch.object(Steps, "step", lambda self: "mocked"):
        assert Mixed().step() == "mocked"
    assert vars(_analysis.sweep(str(in_process())))["events"]["operation"] == 3


def test_other_classes_and_all_once_it_is_over_have_the_interpreters_own_view(hooks: Hooks) -> None:
    assert vars(Steps) == _native.names_of(Steps)
    hooks.restore()
    assert vars(Mixed) == _native.names_of(Mixed)
    assert "step" not in _native.names_of(Mixed)
