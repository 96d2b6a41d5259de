"""This package says what all studies share to judge: recorded runs become tables, tables metrics with intervals, and
these verdicts.
"""
