"""A screen knows how wide a terminal's lines are and which characters it has, and makes text fit into them."""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import click

from rlscope.text import printable

#: Of a pipe, unless COLUMNS says otherwise.
USUAL_WIDTH = 80
#: A narrower terminal gets lines of this length, which it breaks itself.
LEAST_WIDTH = 40
#: A bar has a full block for each of its cells, and one of these for the eighths of the last one.
EIGHTHS = " ▏▎▍▌▋▊▉█"


def cell_len(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii() and text.isprintable():
        return len(text)
    from rich.cells import cell_len  # and its tables, which most screens do without

    return cell_len(text)


@dataclass(frozen=True)
class Screen:
    """The place that text is written to.

    Attributes:
        width: The width of a line in cells; a Chinese character takes two.
        encoding: The encoding of the text.
    """

    width: int = USUAL_WIDTH
    encoding: str = "utf-8"

    @classmethod
    def of_stdout(cls) -> "Screen":
        """Return what standard output is written to; lines for a pipe are 80 wide unless COLUMNS is set."""
        try:
            size = os.get_terminal_size(sys.stdout.fileno())
        except (OSError, ValueError):  # no terminal, or no file
            size = os.terminal_size((USUAL_WIDTH, 24))
        given = os.environ.get("COLUMNS", "")
        width = int(given) if given.isascii() and given.isdigit() and int(given) else size.columns
        return cls(max(width or USUAL_WIDTH, LEAST_WIDTH), getattr(sys.stdout, "encoding", None) or "utf-8")

    @property
    def ellipsis(self) -> str:
        """Return what stands for what was cut out."""
        return "…" if self._has("…") else "..."

    def shown(self, text: str) -> str:
        """Return the text with what this encoding lacks, or what is no printable character, as an escape.

        Microseconds are "us" then, as usual where there is no Greek letter.
        """
        if not self._has(text):
            text = re.sub(r"(?<=\d )µs\b", "us", text)
        return printable(text).encode(self.encoding, "backslashreplace").decode(self.encoding)

    def cut(self, text: str, width: int) -> str:
        """Return text that was `shown`, in at most `width` cells: of a longer one the middle is left out."""
        if cell_len(text) <= width:
            return text
        left = max(width - len(self.ellipsis), 0)
        head, tail = text[: left - left // 2], text[len(text) - left // 2 :]
        while cell_len(head) > left - left // 2:
            head = head[:-1]
        while cell_len(tail) > left // 2:
            tail = tail[1:]
        return head + self.ellipsis[: max(width, 0)] + tail

    def filled(self, text: str, indent: str = "", following: str | None = None) -> list[str]:
        """Return a sentence in lines that break between words.

        Of a word that is longer than a line the middle is left out. A path is shown whole: it breaks behind slashes.

        Args:
            text: Anything.
            indent: Before the first line.
            following: Before all others; the same as `indent` unless given.
        """
        lines = [indent]
        following = indent if following is None else following
        is_empty = True
        for word in self.shown(text).split(" "):
            gap = " "
            for part in self._parts(word, self.width - cell_len(following)):
                if not is_empty and cell_len(lines[-1] + gap + part) > self.width:
                    lines.append(following)
                    is_empty = True
                lines[-1] += part if is_empty else gap + part
                is_empty, gap = False, ""
        return lines

    def _parts(self, word: str, width: int) -> list[str]:
        """Return a word in parts of at most `width` cells, between which a line may break; a path in several."""
        if cell_len(word) <= width or "/" not in word:
            return [self.cut(word, width)]
        parts = re.findall("[^/]*/|[^/]+", word)
        return [piece for part in parts for piece in packed(list(part), width)]

    def bar(self, share: float, width: int) -> str:
        """Return a bar of `width` cells for a share of 1; of blocks or, where there are none, of #."""
        share = max(0.0, min(share, 1.0))
        if not self._has(EIGHTHS):
            return "#" * round(share * width)
        full, eighths = divmod(round(share * width * 8), 8)
        return (EIGHTHS[-1] * full + EIGHTHS[eighths]).rstrip()

    def _has(self, characters: str) -> bool:
        try:
            characters.encode(self.encoding)
        except UnicodeEncodeError:
            return False
        return True


def padded(text: str, width: int, is_number: bool = False) -> str:
    """Return text with spaces to `width` cells: before a number, behind a name."""
    spaces = " " * (width - cell_len(text))
    return spaces + text if is_number else text + spaces


def packed(words: list[str], width: int) -> Iterator[str]:
    """Yield words put together, as many as fit into `width` cells."""
    line = ""
    for word in words:
        if line and cell_len(line + word) > width:
            yield line
            line = ""
        line += word
    yield line


def print_lines(lines: Sequence[str]) -> None:
    """Write lines; one that nothing stands before is a title, which a terminal shows bold."""
    titles = {place + 1 for place, line in enumerate(lines) if not line} | {0}
    shown = [click.style(line, bold=True) if place in titles else line for place, line in enumerate(lines)]
    click.echo("\n".join(shown), color=False if os.environ.get("NO_COLOR") else None)


def print_parts(parts: Iterable[Sequence[str]]) -> None:
    """Write lines in parts, with an empty line between two."""
    for place, lines in enumerate(parts):
        print_lines([*([""] if place else []), *lines])
