#!/usr/bin/env bash
# Check that the work of this machine's GPUs can be recorded. Without a GPU: says so, exit status 0. With one that cannot
# be recorded: says how to fix it, exit status 1. Runs when a container starts, since images are built without a GPU.
set -euo pipefail
checkout="$(dirname "$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")")"
python="$checkout/.venv/bin/python"
[[ -x "$python" ]] || python=python3
exec "$python" -m rlscope.checks.cupti_check
