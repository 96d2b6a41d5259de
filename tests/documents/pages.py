"""The pages of the documentation, and what tests look for in them: commands, files, sentences."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "experiments" / "README.md"])
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]


@dataclass(frozen=True)
class Command:
    """A line that a reader pastes into a shell.

    Attributes:
        words: of the line, without comments.
        title: over its block, such as "needs a GPU"; empty where everybody can run it at once.
    """

    words: tuple[str, ...]
    title: str


def commands(page: Path) -> list[Command]:
    """The commands of the blocks that are marked as a shell's."""
    blocks = re.findall(r'^```(?:bash|sh)(?: title="([^"]*)")?\n(.*?)^```', page.read_text(), flags=re.M | re.S)
    lines = [(title, line) for title, block in blocks for line in block.replace("\\\n", " ").splitlines()]
    found = [Command(tuple(shlex.split(line, comments=True)), title) for title, line in lines]
    return [command for command in found if command.words]


def files(page: Path) -> dict[str, str]:
    """The Python files that a page asks its reader to save, by their names."""
    return dict(re.findall(r'^```python title="([^"]*)"\n(.*?)^```', page.read_text(), flags=re.M | re.S))


def inline_commands(page: Path) -> list[str]:
    """The calls of rlscope inside of sentences and tables."""
    return re.findall(r"`(rlscope [a-z]+ [^`\n]*)`", page.read_text())


def sentences(text: str) -> list[str]:
    """The sentences of a page, outside of tables, blocks and headings; each item of a list begins a new one."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    text = re.sub(r"^(\||#|!\[).*$", "\n", text, flags=re.M)
    text = re.sub(r"^ *(- |\d+\. )", "\n\n", text, flags=re.M)
    paragraphs = [" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text)]
    found = [sentence for paragraph in paragraphs for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z`*\[(])", paragraph)]
    return [sentence for sentence in found if re.search(r"[A-Za-z]", sentence)]


def words_of_sentences(text: str) -> list[int]:
    """How many words each sentence has; a link counts as its text, a piece of code as one word."""
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return [len(re.sub(r"`[^`]*`", "code", sentence).split()) for sentence in sentences(text)]
