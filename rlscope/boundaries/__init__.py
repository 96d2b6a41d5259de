"""The boundaries that ship: one small file per library, which names modules, types and functions and nothing else."""
