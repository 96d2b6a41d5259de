"""`python -m rlscope` is the command `rlscope`."""

from rlscope.cli.main import main

main()
