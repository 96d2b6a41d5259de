"""The ranks of a distributed training: which calls of a communicator belong together, and who made the others wait."""
