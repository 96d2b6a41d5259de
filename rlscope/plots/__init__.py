"""Figures from tables: nothing here reads a trace or a clock."""
