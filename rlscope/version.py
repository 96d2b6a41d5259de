"""The version of the package and of the trace format that it writes."""

__version__ = "0.1.0"
FORMAT_VERSION = 3
