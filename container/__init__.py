"""This package holds the parts of `run_docker.py`; it imports nothing of rlscope, which a bare host does not have."""
