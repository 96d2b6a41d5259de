"""Forecasts: how many times as fast a training would be with a change, reckoned from a recording."""
