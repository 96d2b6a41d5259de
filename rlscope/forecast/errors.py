"""This file says how far each model of a forecast was off where it was measured."""

from rlscope.forecast.change import Model

#: How many times as large or as small as forecast the gain was: the largest of the pairs of docs/forecast-measured.md.
#: Of a graph no pair was measured; its interval is that of what it is reckoned from.
ERRORS = {
    Model.FASTER: 1.55,
    Model.RARER: 1.7,
    Model.BATCH: 1.5,
    Model.ONE_PROCESS: 1.5,
    Model.PROCESSES: 2.9,
    Model.GRAPH: 1.0,
}
