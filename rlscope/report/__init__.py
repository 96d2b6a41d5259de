"""Analyses put into words, tables of a terminal, and a page with figures."""
