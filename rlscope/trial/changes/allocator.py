"""Take memory from jemalloc or tcmalloc in the place of the C library's allocator, where one is installed."""

import glob

from rlscope.trial.change import Making

ALTERS = "how much memory is in use; no number"
IS_OF_WALL = False
_PLACES = ("/usr/lib/*/", "/usr/lib64/", "/usr/lib/", "/usr/local/lib/")
_NAMES = ("libtcmalloc_minimal.so.4", "libtcmalloc.so.4", "libjemalloc.so.2")


def _installed() -> str:
    """Return the library's file, or an empty name."""
    found = (file for name in _NAMES for place in _PLACES for file in sorted(glob.glob(place + name)))
    return next(found, "")


_LIBRARY = _installed()
ENVIRONMENT = {"LD_PRELOAD": _LIBRARY} if _LIBRARY else {}


def prepare(making: Making) -> None:
    """Do nothing: a variable says it."""


def look(making: Making) -> None:
    """Note whether the library is loaded; before, whether it can be."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        is_loaded = bool(_LIBRARY) and any(name in line for line in file for name in _NAMES)
    if bool(_LIBRARY) and is_loaded == making.is_on:
        making.met("memory", f"LD_PRELOAD={_LIBRARY} python train.py")
