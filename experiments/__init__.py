"""The case studies: each regenerates a published figure from recorded runs and judges the published claims.

`python -m experiments…` puts the checkout first on the path, where `rlscope/` has no compiled part. The installed
package must win, so the checkout goes to the end.
"""

import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent

sys.path.sort(key=lambda entry: Path(entry or ".").resolve() == CHECKOUT)
