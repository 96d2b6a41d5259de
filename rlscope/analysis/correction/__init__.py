"""This package holds what recording one event costs, and takes that off the times of a sweep."""
