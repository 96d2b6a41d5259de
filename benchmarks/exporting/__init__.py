"""This package measures what exported files cost."""
