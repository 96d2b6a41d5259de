"""Whole numbers as options of workloads: what `argparse` calls with their text."""

import argparse


def whole(text: str) -> int:
    """A number of things."""
    return at_least(1, text)


def seed(text: str) -> int:
    """What random numbers begin with."""
    return at_least(0, text)


def at_least(least: int, text: str) -> int:
    """A number in digits.

    Raises:
        ArgumentTypeError: it is none, or smaller.
    """
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"expected a whole number, at least {least}, found {text!r}")
    return int(text)
