"""This package runs commands repeatedly, and keeps what `rlscope compare` reads."""
