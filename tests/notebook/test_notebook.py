"""The example notebook runs and shows analyses; a cell that fails or is recorded twice says so."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_notebook

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "notebook.ipynb"


def executed(notebook: nbformat.NotebookNode, directory: Path) -> list[nbformat.NotebookNode]:
    """Runs a notebook in a kernel of its own. Returns its cells of code."""
    client = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(directory)}})
    client.execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def htmls(cell: nbformat.NotebookNode) -> list[str]:
    return [output.data["text/html"] for output in cell.outputs if "text/html" in output.get("data", {})]


def test_the_example_shows_where_its_time_went(tmp_path: Path) -> None:
    cells = executed(nbformat.read(EXAMPLE, as_version=4), tmp_path)
    recorded, table, page = cells[2:]
    (shown,) = htmls(recorded)
    assert (
        "Where the time went" in shown
        and "backpropagation" in shown
        and "inference" in shown
        and "<script" not in shown
    )
    assert "backpropagation" in table.outputs[0].data["text/plain"]
    assert (tmp_path / "trace" / "manifest.json").is_file()
    (frame,) = htmls(page)
    assert frame.startswith("<iframe sandbox") and "RL-Scope: trace" in frame


def test_a_cell_is_recorded_more_than_once_and_leaves_its_names(tmp_path: Path) -> None:
    record = '%%rlscope\nimport rlscope\nwith rlscope.operation("simulation"):\n    total = sum(range(100_000))'
    sources = ["%load_ext rlscope", record, record, "print(total)"]
    cells = executed(new_notebook(cells=[new_code_cell(source) for source in sources]), tmp_path)
    assert all("simulation" in htmls(cell)[0] for cell in cells[1:3])
    assert cells[3].outputs[0].text == "4999950000\n"
    assert not list(tmp_path.iterdir())


def test_an_error_in_a_cell_is_the_cells_own(tmp_path: Path) -> None:
    sources = ["%load_ext rlscope", "%%rlscope trace\n1 / 0"]
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        executed(new_notebook(cells=[new_code_cell(source) for source in sources]), tmp_path)
    assert (tmp_path / "trace" / "manifest.json").is_file()


def test_a_trace_that_is_there_is_not_replaced(tmp_path: Path) -> None:
    sources = ["%load_ext rlscope", "%%rlscope trace\n1", "%%rlscope trace\n2"]
    with pytest.raises(CellExecutionError, match="UsageError"):
        executed(new_notebook(cells=[new_code_cell(source) for source in sources]), tmp_path)
