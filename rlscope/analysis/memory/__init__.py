"""How much memory processes had, in the host and on devices, and whether it grew."""
