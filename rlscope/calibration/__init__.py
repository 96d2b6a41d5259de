"""This package measures what recording costs on a machine, and keeps it."""
