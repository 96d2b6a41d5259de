"""This package measures pages: how large they are, and how long making them, opening them and moving in them takes."""
