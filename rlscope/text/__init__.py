"""This file makes text safe to show where it comes from a trace or a file name, and may be anything."""

# Joins emoji into one; the other invisible characters reorder or hide what stands around them.
ZERO_WIDTH_JOINER = "\u200d"
#: So much of a file's path tells it from others.
_LINE_PARTS = 2


def printable(text: str, keep: str = "") -> str:
    r"""Return `text` on one line, without control, invisible and direction-changing characters: these become
    `\x1b`, `\u202e`.

    Args:
        text: anything.
        keep: characters to leave as they are all the same, such as a newline.
    """
    if text.isprintable():
        return text
    shown = [c if c.isprintable() or c == ZERO_WIDTH_JOINER or c in keep else _escaped(c) for c in text]
    return "".join(shown)


def encodable(text: str) -> str:
    r"""Return `text` with halves of surrogate pairs, which JSON can say and no file can hold, as `\ud83d`."""
    return text.encode("utf-8", "backslashreplace").decode()


def as_html(text: str) -> str:
    """`text` as HTML that shows it and does nothing else."""
    import html  # and a table of all entities, which a recorded program need not load

    return html.escape(printable(text))


def cuda_version(number: int) -> str:
    """Return a version of CUDA as the driver says it: 13000 is 13.0."""
    return f"{number // 1000}.{number % 1000 // 10}"


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def line_text(file: str, line: int) -> str:
    """Return a line as people write it, with the end of a file's path: `optim/adam.py:412`."""
    return f"{'/'.join(file.split('/')[-_LINE_PARTS:])}:{line}"
