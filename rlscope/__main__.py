"""This file makes `python -m rlscope` the command `rlscope`."""

from rlscope.cli.start import main

main()
