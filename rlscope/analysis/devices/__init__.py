"""This package finds what devices did: how long they worked, for whom, on what, and why they did nothing."""
