"""This package reads what the user gives a verb besides its options."""
