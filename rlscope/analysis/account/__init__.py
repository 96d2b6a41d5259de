"""This package makes the account of a run: where its wall time went, by causes that a person knows."""
