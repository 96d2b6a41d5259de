"""This file says in tables and captions where a mean has no interval."""

import pandas as pd

from experiments.verdicts.statistics import FEWEST

ENDS = ("_low", "_high", "_low_s", "_high_s")


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table for people: "no interval (n=2)" where there were too few repetitions for one.

    Args:
        table: its column `repetitions`, or else `iterations`, says how many; the ends of intervals are in columns whose
            names end in one of ENDS.
    """
    counts = counts_in(table)
    texts = pd.Series([f"no interval (n={count})" for count in counts], index=table.index, dtype=object)
    return table.assign(
        **{
            column: table[column].astype(object).where(counts >= FEWEST, texts)
            for column in table.columns
            if column.endswith(ENDS)
        }
    )


def caption_of(caption: str, table: pd.DataFrame) -> str:
    """Return a figure's caption, with how many of its numbers have no interval.

    Args:
        caption: of the figure.
        table: the numbers in it, as for `readable`.
    """
    few = int((counts_in(table) < FEWEST).sum())
    return f"{caption} No interval for {few} of {len(table)} numbers: n is less than {FEWEST}." if few else caption


def counts_in(table: pd.DataFrame) -> pd.Series:
    """Return how many repetitions each row has; none of an empty table."""
    columns = [column for column in ("repetitions", "iterations") if column in table]
    return table[columns[0]] if columns else pd.Series(dtype=int)
