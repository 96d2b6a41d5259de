"""Import before the loop.

**Why it is slow.** What is imported for the first time in the middle of the training is read and run there. A large
package takes seconds. Workers that are started anew import all of it again. What is not there is looked for in all
folders, each time that it is asked for.

**Slow**

    def log(self):
        import matplotlib.pyplot as plt

**Faster**

    import matplotlib.pyplot as plt                # at the head of the file

**How it is found.** Imports in the training loop have an eighth of it or more, or lines in functions with an `import`.

**When it is wrong.** In a short run an import may have much of the time, and of the long one nothing.

**Reported:** pytorch/pytorch #5636.
"""

import ast
from collections.abc import Iterator

from rlscope.analysis.account.causes import Cause
from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found
from rlscope.rules.source import Line

_CHANGE = "import before the loop"


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for imports in the loop, also of what is not there."""
    found = list(evidence.cause(Cause.IMPORT, _CHANGE))
    lines = [evidence.line_at(each.place) for each in found]
    # What libraries import when they are asked for something new is nothing that the program can import.
    if any(line is None or _imports(line) for line in lines):
        yield from found
    else:
        yield from evidence.calls((), _CHANGE, _imports)


def _imports(line: Line) -> str:
    imports = (node for node in line.nodes if isinstance(node, ast.Import | ast.ImportFrom) and line.is_in_function)
    return next((ast.unparse(node) for node in imports), "")
