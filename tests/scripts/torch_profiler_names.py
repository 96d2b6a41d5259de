"""Profiles itself by torch.profiler while it imports a module and executes text, and prints the names of that code.

When it reads the names, the code is gone, and what lies in its memory has been used for something else.
"""

import compileall
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

with tempfile.TemporaryDirectory() as folder:
    sys.path.append(folder)
    from torch.profiler import ProfilerActivity, profile

    Path(folder, "begins.py").write_text("import __main__\n__main__.profiler.start()\n")
    Path(folder, "comes_late.py").write_text("add = lambda number: number + 1\nadd(1)\ndel add\n")
    compileall.compile_dir(folder, quiet=1)  # code that is read from such a file has names of its own
    profiler: Any = profile(activities=[ProfilerActivity.CPU], with_stack=True)
    import begins  # type: ignore[import-not-found]  # noqa: F401
    import comes_late  # type: ignore[import-not-found]  # noqa: F401

    exec(compile("1", "-".join(("typed", "in")), "exec"))
    profiler.stop()

# As many objects as fill what was freed.
taken = [bytes([0xFF] * size) for size in range(16, 80) for _ in range(20_000)]
for event in profiler.profiler.kineto_results.events():
    try:
        name = event.name()
    except UnicodeDecodeError as error:
        name = repr(error.object)
    if any(file in name for file in ("begins.py", "comes_late.py", "typed-in")):
        print(re.sub(r"\(\d+\)", "", name))
