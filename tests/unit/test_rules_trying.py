"""The cases that measure `rlscope try` are edits of hosts and faults as they are."""

from pathlib import Path

import pytest
from rules import trying
from rules.recording import written


@pytest.mark.parametrize("case", trying.CASES, ids=lambda case: case.program)
def test_a_case_is_an_edit_of_its_program(case: trying.Case, tmp_path: Path) -> None:
    program = trying.replaced(written(case.program, tmp_path).read_text(), case.prepared)
    edited = trying.replaced(program, case.edit)
    assert (edited != program) == bool(case.edit) != bool(case.edited_variables)
    assert "processor" in trying.with_stopwatch(edited)
