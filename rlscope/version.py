"""This file holds the version of the package and of the trace format that it writes."""

__version__ = "0.2.0.dev0"
FORMAT_VERSION = 13
