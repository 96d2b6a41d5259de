"""This package holds the case studies: each draws a published figure from recorded runs and judges published claims."""

from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
