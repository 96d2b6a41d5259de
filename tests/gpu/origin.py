"""Prints where results of the GPU suite come from: the command, the day, the machine, the packages and the recorder.

python -m tests.gpu.origin COMMAND >machine.json
"""

import json
import sys
from datetime import datetime, timezone
from pathlib import Path

from experiments.harness.execute import versions
from experiments.harness.interpreters import built_from_of
from experiments.harness.machine import machine_and_gpus


def main() -> None:
    """Prints JSON with the keys that results of studies have too."""
    python = Path(sys.executable)
    about = {
        "command": sys.argv[1],
        "date": datetime.now(timezone.utc).date().isoformat(),
        "machine": machine_and_gpus(),
        "versions": {name: found for name, found in versions(python).items() if found != "not installed"},
        "recorders": [built_from_of(python)],
    }
    print(json.dumps(about, indent=2))


if __name__ == "__main__":
    main()
