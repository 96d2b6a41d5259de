"""Which commands are Pythons that recording cannot start in."""

import sys

import pytest

from rlscope.record.unrecordable import why_unrecordable


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("python -I x.py", "I"), ("python3.11 -S -c pass", "S"), ("/opt/bin/pypy3 -E", "E"), ("python -uBsE x.py", "E"),
        ("python -X dev -I x.py", "I"), ("python -Xdev -WI -S x.py", "S"), ("python -W ignore -I", "I"),
        ("python --check-hash-based-pycs never -I x.py", "I"), ("python -Im venv", "I"), (f"{sys.executable} -I", "I"),
        ("python x.py -I", None), ("python -m pip -I", None), ("python -c -I", None), ("python -cI", None),
        ("python -mS", None), ("python - -I", None), ("python -X I x.py", None), ("python -XI x.py", None),
        ("python -W S x.py", None), ("python -- -I", None), ("python -u x.py", None), ("python", None), ("", None),
        ("python --check-hash-based-pycs -I x.py", None), ("ipython -I", None), ("pythonista -I", None),
        ("sh -c python -I", None), ("grep -I x", None),
    ],
)  # fmt: skip
def test_options_in_the_way(command: str, option: str | None) -> None:
    why = why_unrecordable(command.split())
    assert (why is None) == (option is None)
    assert option is None or (why is not None and why.startswith(f"Python was started with -{option}, with which it "))


def test_the_program_counts_whatever_its_name_is() -> None:
    assert why_unrecordable([b"worker", b"-I"], [b"/bin/python3"])
    assert why_unrecordable(["worker", "-I"]) is None
