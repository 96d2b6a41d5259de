"""The parts of `run_docker.py`, which import nothing of rlscope: a bare host has none of it installed."""
