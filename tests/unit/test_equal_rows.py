"""When two rows of an analysis are the same."""

from dataclasses import FrozenInstanceError

import pytest

from rlscope.analysis.devices.rows import GpuOperationRow
from rlscope.analysis.table_rows import TransitionRow

ROW = TransitionRow("main", "inference", "act", "python", "backend", 12, 3.0, None)


def test_rows_are_equal_when_their_fields_are() -> None:
    same = TransitionRow("main", "inference", "act", "python", "backend", 12, 3.0, None)
    other = TransitionRow("main", "inference", "act", "python", "backend", 13, 3.0, None)
    assert same == ROW and len({ROW, same}) == 1
    assert other != ROW and len({ROW, other}) == 2


def test_rows_of_two_classes_are_not_equal() -> None:
    assert GpuOperationRow("main", 0, "act", 1.0, 0.0, 7) != ("main", 0, "act", 1.0, 0.0, 7)
    assert GpuOperationRow("main", 0, "act", 1.0, 0.0, 7) != ROW


def test_a_row_names_its_fields_and_stays_as_it_is() -> None:
    assert repr(ROW).startswith("TransitionRow(process='main', stage='inference', operation='act', ")
    with pytest.raises(FrozenInstanceError):
        ROW.count = 13
