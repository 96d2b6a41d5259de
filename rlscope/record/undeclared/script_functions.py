"""Operations in functions of the script itself, which no import tells of: the interpreter does, from Python 3.12 on."""

import inspect
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any

from rlscope._native import Scope

CAN_FOLLOW_SCRIPT = sys.version_info >= (3, 12)
#: The script's module, and the same one where a child of multiprocessing imports it again.
SCRIPTS = ("__main__", "__mp_main__")
TOOL_NAME = "rlscope script functions"
#: Numbers that sys.monitoring has for tools: first those that it has no use for in mind.
TOOLS = (4, 3, 5, 1, 2, 0)


class ScriptFunctions:
    """Finds the code of functions when the script begins to run, and opens operations while it runs."""

    def __init__(self, functions: dict[str, list[Scope]], on_found: Callable[[str], None]) -> None:
        self._awaited = dict(functions)
        self._on_found = on_found
        self._scopes: dict[int, tuple[CodeType, list[Scope]]] = {}  # by id: a code's hash is made of all of it
        self._monitoring: Any = getattr(sys, "monitoring", None)
        self._tool: int | None = None

    def install(self) -> None:
        """Wait for the script to begin. Where six tools are at work already, nothing is followed."""
        monitoring = self._monitoring
        self._tool = next((tool for tool in TOOLS if monitoring.get_tool(tool) is None), None)
        if self._tool is None:
            return
        monitoring.use_tool_id(self._tool, TOOL_NAME)
        for name, callback in (
            ("PY_START", self._on_start),
            ("PY_RESUME", self._on_enter),
            ("PY_THROW", self._on_enter),
            ("PY_RETURN", self._on_leave),
            ("PY_YIELD", self._on_leave),
            ("PY_UNWIND", self._on_leave),
        ):
            monitoring.register_callback(self._tool, getattr(monitoring.events, name), callback)
        monitoring.set_events(self._tool, monitoring.events.PY_START)

    def remove(self) -> None:
        """Follows nothing any more."""
        if self._tool is not None:
            self._monitoring.set_events(self._tool, 0)
            for code, _ in self._scopes.values():
                self._monitoring.set_local_events(self._tool, code, 0)
            self._monitoring.free_tool_id(self._tool)
            self._tool = None

    def _on_start(self, code: CodeType, offset: int) -> Any:
        if id(code) in self._scopes:
            return self._on_enter(code, offset)
        if code.co_name == "<module>" and sys._getframe(1).f_globals.get("__name__") in SCRIPTS:
            self._follow_functions_of(code)
        return self._monitoring.DISABLE  # of this code alone

    def _follow_functions_of(self, script: CodeType) -> None:
        events = self._monitoring.events
        for code in script.co_consts:
            is_function = isinstance(code, CodeType) and code.co_flags & inspect.CO_OPTIMIZED  # no class
            if is_function and code.co_name in self._awaited:
                self._scopes[id(code)] = (code, self._awaited[code.co_name])
                local = events.PY_START | events.PY_RESUME | events.PY_RETURN | events.PY_YIELD
                self._monitoring.set_local_events(self._tool, code, local)
        for name in {code.co_name for code, _ in self._scopes.values()} & self._awaited.keys():
            del self._awaited[name]
            self._on_found(name)
        # The interpreter tells of exceptions that leave or enter a function only for all functions at once.
        of_all = events.PY_UNWIND | events.PY_THROW if self._scopes else 0
        self._monitoring.set_events(self._tool, of_all | (events.PY_START if self._awaited else 0))

    def _on_enter(self, code: CodeType, offset: int, error: BaseException | None = None) -> None:
        followed = self._scopes.get(id(code))
        if followed is not None:
            for scope in followed[1]:
                scope.__enter__()

    def _on_leave(self, code: CodeType, offset: int, result: Any) -> None:
        followed = self._scopes.get(id(code))
        if followed is not None:
            for scope in reversed(followed[1]):
                scope.__exit__(None, None, None)
