"""This package holds the detail that a sweep finds where asked: functions, bins, iterations, instances, events."""
