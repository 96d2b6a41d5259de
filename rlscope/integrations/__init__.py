"""Operations of known libraries without edits: one small file per library, which names classes and functions.

Other profilers that a program may use on itself have such a file too: they get what only one profiler can have.
"""
