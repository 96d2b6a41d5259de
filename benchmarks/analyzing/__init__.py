"""This package measures what analysis costs, beside HolisticTraceAnalysis."""
