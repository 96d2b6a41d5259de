"""This package tells what changed between runs: times of repeated runs, their intervals, and a verdict in words."""
