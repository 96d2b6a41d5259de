"""This file says how far each model of a forecast was off where it was measured."""

from rlscope.forecast.change import Model

#: How many times as large or as small the gain was as forecast, with 1 for each change that is of no use: the most of
#: the pairs of runs in docs/forecast.md.
ERRORS = {Model.FASTER: 1.4, Model.RARER: 1.95, Model.BATCH: 1.3, Model.PROCESSES: 1.5, Model.GRAPH: 1.0}
