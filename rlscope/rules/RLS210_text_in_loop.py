"""Turn less into text, and read less of it, while training.

**Why it is slow.** JSON, YAML and XML make or read each number as text: an observation of 10,000 numbers takes
milliseconds, as bytes of an array microseconds.

**Slow**

    socket.send(json.dumps(observation.tolist()).encode())

**Faster**

    socket.send(observation.tobytes())

**How it is found.** Stacks pass `json`, `yaml` or `xml` in an eighth of the training or more.

**When it is wrong.** A protocol of others may need it; then ask for less at once.

**Reported:** stanfordnmbl/osim-rl #182, stan-dev/httpstan #60.
"""

from collections.abc import Iterator

from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found

UNLESS = ("RLS309",)


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for text that is made or read."""
    yield from evidence.calls(("json/", "yaml/", "xml/"), "write less text: what is new alone, and arrays as bytes")
