"""Start-up hook: this directory, alone on PYTHONPATH, makes every Python of a recorded run record itself.

It also makes each Python of a trial take part in it. In a Python for which the extension was not built it leaves a note
in the trace and does nothing else. Then it runs the sitecustomize that it hides. It is read by whatever Python the run
starts, so its syntax is that of all of them.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_PACKAGE = os.path.dirname(os.path.dirname(_HERE))
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK


def _start():
    """Record this process, or try changes in it, if the extension was built for this Python."""
    if not any(os.path.exists(_PACKAGE + "/_native" + suffix) for suffix in _imp.extension_suffixes()):
        if "RLSCOPE_TRACE" in os.environ:
            _leave_note()
        return
    try:
        if "rlscope" not in sys.modules:  # from where this file lies, without a change to sys.path
            _load("rlscope", [os.path.dirname(_PACKAGE)])
        from rlscope import _native
    except ImportError as error:
        if "subinterpreter" in str(error):  # as Python says since 3.12; the process is recorded all the same
            return
        raise
    if not _native.is_main_interpreter():
        return
    if "RLSCOPE_TRACE" in os.environ:
        from rlscope.record.child import start_in_child

        start_in_child()
    if "RLSCOPE_TRIAL_PLAN" in os.environ:
        from rlscope.trial.inside import start

        start()


def _load(name, paths):
    """Import a module that is not loaded yet from one of the folders; do nothing where none has it."""
    spec = _frozen_importlib_external.PathFinder.find_spec(name, paths)
    if spec is not None and spec.loader is not None:
        module = _frozen_importlib.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)


def _leave_note():
    """Note in the trace that this process could not be recorded; its own output stays as it is."""
    version = ".".join(map(str, sys.version_info[:3]))
    try:
        note = os.open(os.environ["RLSCOPE_TRACE"] + "/unrecorded.txt", _FLAGS, 0o644)
    except OSError:
        return
    text = str(os.getpid()) + " rlscope is not installed for Python " + version + " at " + sys.executable + "\n"
    os.write(note, text.encode("utf-8", "replace"))
    os.close(note)


def _run_hidden_sitecustomize():
    """Run the sitecustomize that would have been found without this one."""
    paths = [path for path in sys.path if os.path.abspath(path or ".") != _HERE]
    _load("sitecustomize", paths)


if sys.version_info < (3, 5):
    if "RLSCOPE_TRACE" in os.environ:
        _leave_note()
else:
    # What importlib is made of: importing importlib itself takes as long as all of this.
    import _frozen_importlib
    import _frozen_importlib_external
    import _imp

    try:
        if "RLSCOPE_TRACE" in os.environ or "RLSCOPE_TRIAL_PLAN" in os.environ:
            _start()
    finally:
        _run_hidden_sitecustomize()
