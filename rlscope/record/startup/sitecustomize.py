"""Start-up hook: this directory, alone on PYTHONPATH, makes every Python of a recorded run record itself.

In a Python for which the extension was not built it leaves a note in the trace and does nothing else. Then it runs the
sitecustomize that it hides. It is read by whatever Python the run starts, so its syntax is that of all of them.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_PACKAGE = os.path.dirname(os.path.dirname(_HERE))
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK


def _start_recording():
    """Records this process if the extension was built for this Python."""
    suffixes = importlib.machinery.EXTENSION_SUFFIXES
    if not any(os.path.exists(_PACKAGE + "/_native" + suffix) for suffix in suffixes):
        _leave_note()
        return
    if "rlscope" not in sys.modules:  # from where this file lies, without a change to sys.path
        spec = importlib.util.spec_from_file_location(
            "rlscope", _PACKAGE + "/__init__.py", submodule_search_locations=[_PACKAGE]
        )
        module = importlib.util.module_from_spec(spec)
        sys.modules["rlscope"] = module
        spec.loader.exec_module(module)
    from rlscope.record.child import start_in_child

    start_in_child()


def _leave_note():
    """The trace names processes that could not be recorded; this process's own output stays as it is."""
    version = ".".join(map(str, sys.version_info[:3]))
    try:
        note = os.open(os.environ["RLSCOPE_TRACE"] + "/unrecorded.txt", _FLAGS, 0o644)
    except OSError:
        return
    text = str(os.getpid()) + " rlscope is not installed for Python " + version + " at " + sys.executable + "\n"
    os.write(note, text.encode("utf-8", "replace"))
    os.close(note)


def _run_hidden_sitecustomize():
    """Runs the sitecustomize that would have been found without this one."""
    paths = [path for path in sys.path if os.path.abspath(path or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", paths)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if sys.version_info < (3, 5):
    if "RLSCOPE_TRACE" in os.environ:
        _leave_note()
else:
    import importlib.machinery
    import importlib.util

    if "RLSCOPE_TRACE" in os.environ:
        _start_recording()
    _run_hidden_sitecustomize()
