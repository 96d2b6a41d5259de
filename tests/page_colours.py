"""The colours that a page in a browser has now."""

from typing import Any

VALUES = """(names) => names.map(
  (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim())"""


def colours_of(page: Any, *names: str) -> dict[str, str]:
    """The value of each colour of page.css, such as `#142858` of `python`."""
    return dict(zip(names, page.evaluate(VALUES, list(names)), strict=True))


def light_of(colour: str) -> list[int]:
    """Red, green and blue of a colour such as `#142858`, from 0 to 255."""
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
