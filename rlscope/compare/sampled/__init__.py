"""This package estimates a whole run from those iterations of it that were recorded."""
