"""This package holds the case studies: each draws a published figure from recorded runs and judges published claims.

`python -m experiments…` puts the checkout first on the path. Runs are recorded by the installed package, and must be
analyzed by the same, so the checkout goes to the end.
"""

import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent

sys.path.sort(key=lambda entry: Path(entry or ".").resolve() == CHECKOUT)
