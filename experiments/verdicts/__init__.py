"""This package judges: recorded runs become tables, tables become metrics with intervals, and these become verdicts."""
