"""This file says how Compose calls all that it makes for one checkout and user: nobody's commands reach another's."""

import hashlib
import os
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]


def project_of(checkout: Path, uid: int) -> str:
    """Return Compose's name for what a user makes from a checkout: the same each time, and no other one's."""
    return f"rlscope-{uid}-{hashlib.sha256(os.fsencode(checkout)).hexdigest()[:12]}"


PROJECT = project_of(CHECKOUT, os.getuid())
