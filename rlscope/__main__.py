"""`python -m rlscope` is the command `rlscope`."""

from rlscope.cli.start import main

main()
