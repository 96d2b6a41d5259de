"""An analysis in short: the breakdown as a tree, and as a notebook shows it."""
