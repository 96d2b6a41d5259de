#!/usr/bin/env bash
# Regenerate the figures of the algorithm-choice study and judge its claims; --help lists the options.
set -euo pipefail
checkout="$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")"
make --silent -C "$checkout" build
PYTHONPATH="$checkout" exec "$checkout/.venv/bin/python" -m experiments.algorithm_choice.run "$@"
