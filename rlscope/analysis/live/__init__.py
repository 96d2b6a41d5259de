"""This package looks at the last seconds of a trace while it is recorded: windows of sweeps, and rows of them."""
