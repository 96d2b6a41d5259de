"""This file reads whole numbers as options of workloads: `argparse` calls it with their text."""

import argparse


def whole(text: str) -> int:
    """Return a number of things."""
    return at_least(1, text)


def seed(text: str) -> int:
    """Return what random numbers begin with."""
    return at_least(0, text)


def at_least(least: int, text: str) -> int:
    """Return a number in digits.

    Raises:
        ArgumentTypeError: it is none, or smaller.
    """
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"expected a whole number, at least {least}, found {text!r}")
    return int(text)
