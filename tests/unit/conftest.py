"""Makes the checkout's `experiments` importable, behind the installed package."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))
