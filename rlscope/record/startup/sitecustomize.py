"""Start-up hook: this directory, alone on PYTHONPATH, makes every Python of a recorded run record itself.

It does nothing in a Python for which the extension was not built, and then runs the sitecustomize that it hides.
"""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_PACKAGE = os.path.dirname(os.path.dirname(_HERE))


def _load_package() -> bool:
    """Makes `rlscope` importable from where this file lies, without a change to sys.path."""
    if not any(os.path.exists(f"{_PACKAGE}/_native{suffix}") for suffix in importlib.machinery.EXTENSION_SUFFIXES):
        return False
    if "rlscope" not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            "rlscope", f"{_PACKAGE}/__init__.py", submodule_search_locations=[_PACKAGE]
        )
        if spec is None or spec.loader is None:
            return False
        module = importlib.util.module_from_spec(spec)
        sys.modules["rlscope"] = module
        spec.loader.exec_module(module)
    return True


def _start_recording() -> None:
    if "RLSCOPE_TRACE" not in os.environ or not _load_package():
        return
    from rlscope.record.child import start_in_child

    start_in_child()


def _run_hidden_sitecustomize() -> None:
    """Runs the sitecustomize that would have been found without this one."""
    paths = [path for path in sys.path if os.path.abspath(path or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", paths)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


_start_recording()
_run_hidden_sitecustomize()
