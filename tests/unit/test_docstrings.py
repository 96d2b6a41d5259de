"""Docstrings are sentences: those of functions begin with a verb, no other begins in the middle of a thought."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLACES = ("rlscope", "experiments", "benchmarks", "scripts", "container", "cmake", "run_docker.py")
# What `rlscope --help` asks.
QUESTIONS = {"verbs"}
FRAGMENTS = set(
    """of to in by for with without from at on before after between among within until since beside besides inside
    outside under over as like per through during against around behind below above beyond because if that
    what whether how which where who when why whose whom while than""".split()
)
NOUNS_BEGIN = set("the a an all one each every some any both no none two three this these those it its they".split())


def docstrings(file: Path) -> Iterator[tuple[ast.AST, str]]:
    """The docstrings of a module, its classes and functions."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield node, text


def is_sentence(node: ast.AST, text: str) -> bool:
    """Whether a docstring asks a question, or begins as a sentence does; ruff's D401 wants verbs to be imperative."""
    summary = text.split("\n\n")[0]
    first = summary.split()[0].strip('`"(,.:;').lower()
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return node.name in QUESTIONS or first not in FRAGMENTS | NOUNS_BEGIN
    return summary.endswith("?") or first not in FRAGMENTS


@pytest.mark.parametrize("place", PLACES)
def test_docstrings_are_sentences(place: str) -> None:
    files = [ROOT / place] if place.endswith(".py") else sorted((ROOT / place).rglob("*.py"))
    wrong = [
        f"{file.relative_to(ROOT)}:{getattr(node, 'name', 'module')}: {text.splitlines()[0]}"
        for file in files
        for node, text in docstrings(file)
        if not is_sentence(node, text)
    ]
    assert files and not wrong


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("def f():\n '''Of the ratios.'''", False),
        ("def f():\n '''The ratios.'''", False),
        ("def f():\n '''Return the ratios.'''", True),
        ("class C:\n '''What an analysis took.'''", False),
        ("class C:\n '''The cost of an analysis.'''", True),
        ("'''How fast is it?'''", True),
    ],
)
def test_the_rule_tells_sentences_from_fragments(tmp_path: Path, code: str, wanted: bool) -> None:
    (tmp_path / "module.py").write_text(code)
    assert [is_sentence(*found) for found in docstrings(tmp_path / "module.py")] == [wanted]
