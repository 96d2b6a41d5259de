"""Advice: what bounds a run, and what changes could save."""
