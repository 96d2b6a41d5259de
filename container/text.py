"""This file makes text safe to show where it comes from a builder or from a name, and may be anything."""


def printable(text: str) -> str:
    r"""Return the text on one line, with control and invisible characters written as `\x1b` or `\u202e`."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
