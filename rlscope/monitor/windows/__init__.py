"""Windows of a run that is recorded in them: what `rlscope record` does with them, and how commands ask for them."""
