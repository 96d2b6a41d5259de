"""Verbs for a job that is running: look at its recording, and start and stop it."""
