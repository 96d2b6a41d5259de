"""This package measures what recording and analysis cost, side by side with other profilers, in one run.

`python -m benchmarks…` puts the checkout first on the path. The installed package is what is measured, so the checkout
goes to the end.
"""

import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
OUTPUT = CHECKOUT / "output" / "bench"

sys.path.sort(key=lambda entry: Path(entry or ".").resolve() == CHECKOUT)
